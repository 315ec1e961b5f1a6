-- Every statement that the SQLite store runs on the hot path, by name. A block is the line
-- `-- name: …`, comment lines that say why it is as it is, and one statement. Parameters are
-- positional, in the order of the text. Lists are given as one JSON array, so that each statement
-- has one text and stays in the statement cache.

-- name: head
SELECT seq, created_at FROM events WHERE seq = (SELECT max(seq) FROM events);

-- name: state
-- Everything that a transaction has to know before its first step, in one row.
SELECT ledger_id, epoch, adoption_required, boot_id, boot_us, ledger_us, offset_us,
       coalesce((SELECT max(seq) FROM events), 0),
       coalesce((SELECT created_at FROM events WHERE seq = (SELECT max(seq) FROM events)), 0)
  FROM store_state;

-- name: begin_ledger
INSERT INTO store_state (ledger_id, epoch, adoption_required, boot_id, boot_us, ledger_us, offset_us)
VALUES (?, 0, 0, ?, ?, ?, 0);

-- name: whose
-- The ledger that the file holds.
SELECT ledger_id FROM store_state;

-- name: keep_clock
-- Compare-and-set on the time that was loaded.
UPDATE store_state
   SET boot_id = ?, boot_us = ?, ledger_us = ?, offset_us = ?, epoch = ?, adoption_required = ?
 WHERE ledger_id = ? AND ledger_us = ? AND epoch = ?;

-- name: mark_copied
-- A copy takes no writes until it is adopted.
UPDATE store_state SET adoption_required = 1 WHERE ledger_id = ?;

-- name: last_digest
SELECT digest FROM events WHERE seq = (SELECT max(seq) FROM events);

-- name: append
INSERT INTO events (ledger_id, seq, stream, stream_version, type, actor, assurance, created_at,
                    payload, digest, command_id, command_digest, trace_context, conversation_ref)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events
SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
  FROM events WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: event
SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
  FROM events WHERE seq = ?;

-- name: stream
SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
  FROM events WHERE ledger_id = ? AND stream = ? AND stream_version > ?
 ORDER BY stream_version LIMIT ?;

-- name: stream_version
-- The version of a stream as of a seq, to say what is wrong with an event that was refused.
SELECT coalesce(max(stream_version), 0) FROM events
 WHERE ledger_id = ? AND stream = ? AND seq <= ?;

-- name: command
SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
  FROM events WHERE ledger_id = ? AND command_id = ? ORDER BY seq;

-- name: put_blob
-- One that is there, erased or not, is left as it is.
INSERT INTO blobs (ledger_id, digest, salt, data)
SELECT ?1, ?2, ?3, ?4
 WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE ledger_id = ?1 AND digest = ?2);

-- name: erase_blob
UPDATE blobs SET salt = NULL, data = NULL
 WHERE ledger_id = ? AND digest = ? AND data IS NOT NULL;

-- name: blob
SELECT data FROM blobs WHERE ledger_id = ? AND digest = ? AND data IS NOT NULL;

-- name: stored_blobs
SELECT digest, salt, data FROM blobs
 WHERE ledger_id = ? AND digest > ? ORDER BY digest LIMIT ?;

-- name: small
-- What every decision may need, in one pass over one range of the primary key for each kind.
SELECT kind, id, body FROM fact_rows
 WHERE ledger_id = ? AND kind IN ('counter', 'count', 'ledger');

-- name: load_item
SELECT state FROM item_rows WHERE ledger_id = ? AND id = ?;

-- name: load_items
SELECT id, state FROM item_rows WHERE ledger_id = ? AND id IN (SELECT value FROM json_each(?));

-- name: load_alias
SELECT item FROM alias_rows WHERE ledger_id = ? AND alias = ?;

-- name: load_aliases
SELECT alias, item FROM alias_rows
 WHERE ledger_id = ? AND alias IN (SELECT value FROM json_each(?));

-- name: load_triage
SELECT body FROM triage_rows WHERE ledger_id = ? AND id = ?;

-- name: load_triages
SELECT id, body FROM triage_rows WHERE ledger_id = ? AND id IN (SELECT value FROM json_each(?));

-- name: load_lane
SELECT body FROM lane_rows WHERE ledger_id = ? AND id = ?;

-- name: load_lanes
SELECT id, body FROM lane_rows WHERE ledger_id = ? AND id IN (SELECT value FROM json_each(?));

-- name: load_fact
SELECT body FROM fact_rows WHERE ledger_id = ? AND kind = ? AND id = ?;

-- name: load_facts
SELECT id, body FROM fact_rows
 WHERE ledger_id = ? AND kind = ? AND id IN (SELECT value FROM json_each(?));

-- name: ready
SELECT id FROM item_rows
 WHERE ledger_id = ? AND status = 'ready' AND lane = ? AND (rank, number) > (?, ?)
 ORDER BY rank, number LIMIT ?;

-- name: dependents
SELECT dependent, target, kind, state FROM edge_rows
 WHERE ledger_id = ? AND via = ?
 ORDER BY kind, state, dependent, target LIMIT ?;

-- name: awaited
-- One look into the index for each name that was asked for.
SELECT asked.value FROM json_each(?) AS asked
 WHERE EXISTS (SELECT 1 FROM edge_rows WHERE ledger_id = ? AND via = asked.value);

-- name: waiting
-- The states that are looked for are given, since the index finds equals and not others.
SELECT dependent, target, kind, state FROM edge_rows
 WHERE ledger_id = ? AND via = ? AND kind = ? AND state IN (SELECT value FROM json_each(?))
 ORDER BY state, dependent, target LIMIT ?;

-- name: children
SELECT child FROM child_rows WHERE ledger_id = ? AND parent = ? ORDER BY child LIMIT ?;

-- name: linked
-- What hangs on one upper end, by name.
SELECT lower FROM link_rows WHERE ledger_id = ? AND upper = ? AND lower > ? ORDER BY lower LIMIT ?;

-- name: find_links
-- Upper ends that begin alike, such as commits by a beginning of their name.
SELECT upper, lower FROM link_rows WHERE ledger_id = ? AND upper >= ? AND upper < ?
 ORDER BY upper, lower LIMIT ?;

-- name: lanes
SELECT id FROM lane_rows WHERE ledger_id = ? AND ready > 0 ORDER BY passed, id LIMIT ?;

-- name: unmet_of
-- One step of the search for a cycle: where an item's unmet edges lead.
SELECT DISTINCT via FROM edge_rows
 WHERE ledger_id = ? AND dependent = ? AND state = 'unmet' ORDER BY via;

-- name: next_expiry
SELECT lease_expires_at FROM item_rows
 WHERE ledger_id = ? AND lease_expires_at IS NOT NULL
 ORDER BY lease_expires_at LIMIT 1;

-- name: due
SELECT id FROM item_rows
 WHERE ledger_id = ? AND lease_expires_at <= ? ORDER BY lease_expires_at, id LIMIT ?;

-- name: held
-- What waits for a trigger, by place in line.
SELECT id FROM item_rows
 WHERE ledger_id = ? AND hold_trigger = ? AND (hold_rank, number) > (?, ?)
 ORDER BY hold_rank, number LIMIT ?;

-- name: waking
-- What is held until a time that has come, and what is ready and past its lifetime. Leased rows keep
-- their time and are passed over.
SELECT id FROM item_rows
 WHERE ledger_id = ? AND hold_at <= ? AND status <> 'leased' ORDER BY hold_at, number LIMIT ?;

-- name: next_wake
SELECT hold_at FROM item_rows
 WHERE ledger_id = ? AND hold_at IS NOT NULL AND status <> 'leased'
 ORDER BY hold_at LIMIT 1;

-- name: followers
-- What was coalesced onto one item.
SELECT id FROM item_rows
 WHERE ledger_id = ? AND follows = ? ORDER BY number LIMIT ?;

-- name: leased_before
SELECT id FROM item_rows
 WHERE ledger_id = ? AND lease_fence < ? ORDER BY lease_fence LIMIT ?;

-- name: gated
SELECT id FROM item_rows
 WHERE ledger_id = ? AND status = 'draft' AND gate = ? AND number > ?
 ORDER BY number LIMIT ?;

-- name: items_forward
SELECT id FROM item_rows WHERE ledger_id = ? AND number > ? ORDER BY number LIMIT ?;

-- name: items_backward
SELECT id FROM item_rows WHERE ledger_id = ? AND number < ? ORDER BY number DESC LIMIT ?;

-- name: status_forward
-- Of any status but leased, which has a query of its own.
SELECT id, number FROM item_rows
 WHERE ledger_id = ? AND status = ? AND status <> 'leased' AND number > ? ORDER BY number LIMIT ?;

-- name: status_backward
SELECT id, number FROM item_rows
 WHERE ledger_id = ? AND status = ? AND status <> 'leased' AND number < ?
 ORDER BY number DESC LIMIT ?;

-- name: leased
-- All of them, which the limits of concurrency bound; whoever lists them puts them in order.
SELECT id, number FROM item_rows WHERE ledger_id = ? AND lease_fence > 0;

-- name: held_forward
SELECT id FROM item_rows
 WHERE ledger_id = ? AND status = 'held' AND hold_reason = ? AND number > ?
 ORDER BY number LIMIT ?;

-- name: held_backward
SELECT id FROM item_rows
 WHERE ledger_id = ? AND status = 'held' AND hold_reason = ? AND number < ?
 ORDER BY number DESC LIMIT ?;

-- name: gate_backward
SELECT id FROM item_rows
 WHERE ledger_id = ? AND status = 'draft' AND gate = ? AND number < ?
 ORDER BY number DESC LIMIT ?;

-- name: titles
-- What a text search looks at: the title, or the blob that holds the text.
SELECT i.id, i.number, cast(i.state AS TEXT) ->> '$.alias',
       cast(i.state AS TEXT) ->> '$.title',
       (SELECT data FROM blobs AS b
         WHERE b.ledger_id = i.ledger_id
           AND b.digest = i.text_digest)
  FROM item_rows AS i
 WHERE i.ledger_id = ? AND i.id IN (SELECT value FROM json_each(?));

-- name: find_items
SELECT id FROM item_rows WHERE ledger_id = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?;

-- name: find_aliases
SELECT alias FROM alias_rows WHERE ledger_id = ? AND alias >= ? AND alias < ?
 ORDER BY alias LIMIT ?;

-- name: find_triage
SELECT id FROM triage_rows WHERE ledger_id = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?;

-- name: find_facts
SELECT id FROM fact_rows WHERE ledger_id = ? AND kind = ? AND id >= ? AND id < ?
 ORDER BY id LIMIT ?;

-- name: name_items
SELECT id FROM item_rows WHERE ledger_id = ? AND id > ? ORDER BY id LIMIT ?;

-- name: name_aliases
SELECT alias FROM alias_rows WHERE ledger_id = ? AND alias > ? ORDER BY alias LIMIT ?;

-- name: name_triage
SELECT id FROM triage_rows WHERE ledger_id = ? AND id > ? ORDER BY id LIMIT ?;

-- name: name_lanes
SELECT id FROM lane_rows WHERE ledger_id = ? AND id > ? ORDER BY id LIMIT ?;

-- name: name_facts
SELECT id FROM fact_rows WHERE ledger_id = ? AND kind = ? AND id > ? ORDER BY id LIMIT ?;

-- name: triage
SELECT id FROM triage_rows WHERE ledger_id = ? ORDER BY opened_seq, id LIMIT ?;

-- name: triage_open
SELECT id FROM triage_rows WHERE ledger_id = ? AND open = 1 ORDER BY opened_seq, id LIMIT ?;

-- name: open_records
-- Counted in the index of open records alone.
SELECT count(*) FROM triage_rows WHERE ledger_id = ? AND open = 1;

-- name: insert_item
INSERT INTO item_rows (ledger_id, id, number, status, lane, rank, gate, hold_reason, hold_trigger,
                       hold_at, hold_rank, follows, lease_fence, lease_expires_at, lease_actor,
                       text_digest, unmet, version, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: update_item
-- Compare-and-set on the version that was loaded, as every update below.
UPDATE item_rows
   SET status = ?, lane = ?, rank = ?, gate = ?, hold_reason = ?, hold_trigger = ?,
       hold_at = ?, hold_rank = ?, follows = ?, lease_fence = ?, lease_expires_at = ?,
       lease_actor = ?, text_digest = ?, unmet = ?, version = ?, state = ?
 WHERE ledger_id = ? AND id = ? AND number = ? AND version = ?;

-- name: lease_item
-- For a move that changes no column but these, as a lease and its end do. The indexes of the others
-- are not looked at: SQLite looks at an index whenever SET names a column of it.
UPDATE item_rows
   SET status = ?, lease_fence = ?, lease_expires_at = ?, lease_actor = ?, unmet = ?, version = ?,
       state = ?
 WHERE ledger_id = ? AND id = ? AND number = ? AND version = ?;

-- name: touch_item
-- For a change that moves no indexed column: SQLite rewrites an index's entry whenever a column of
-- it is named in SET, whether its value changes or not.
UPDATE item_rows SET text_digest = ?, unmet = ?, version = ?, state = ?
 WHERE ledger_id = ? AND id = ? AND number = ? AND version = ?;

-- name: delete_item
DELETE FROM item_rows WHERE ledger_id = ? AND id = ? AND version = ?;

-- name: insert_edge
INSERT INTO edge_rows (ledger_id, via, kind, state, dependent, target) VALUES (?, ?, ?, ?, ?, ?);

-- name: delete_edge
DELETE FROM edge_rows
 WHERE ledger_id = ? AND via = ? AND kind = ? AND state = ? AND dependent = ? AND target = ?;

-- name: insert_child
INSERT INTO child_rows (ledger_id, parent, child) VALUES (?, ?, ?);

-- name: delete_child
DELETE FROM child_rows WHERE ledger_id = ? AND parent = ? AND child = ?;

-- name: insert_link
INSERT INTO link_rows (ledger_id, upper, lower) VALUES (?, ?, ?);

-- name: delete_link
DELETE FROM link_rows WHERE ledger_id = ? AND upper = ? AND lower = ?;

-- name: insert_lane
INSERT INTO lane_rows (ledger_id, id, passed, ready, body) VALUES (?, ?, ?, ?, ?);

-- name: update_lane
-- A lane has no version of its own either.
UPDATE lane_rows SET passed = ?, ready = ?, body = ? WHERE ledger_id = ? AND id = ? AND body = ?;

-- name: touch_lane
-- For a lane that keeps its turn and what it has ready, as at the end of a lease: its index stays.
UPDATE lane_rows SET body = ? WHERE ledger_id = ? AND id = ? AND body = ?;

-- name: delete_lane
DELETE FROM lane_rows WHERE ledger_id = ? AND id = ? AND body = ?;

-- name: insert_alias
INSERT INTO alias_rows (ledger_id, alias, item) VALUES (?, ?, ?);

-- name: update_alias
UPDATE alias_rows SET item = ? WHERE ledger_id = ? AND alias = ? AND item = ?;

-- name: delete_alias
DELETE FROM alias_rows WHERE ledger_id = ? AND alias = ? AND item = ?;

-- name: insert_triage
INSERT INTO triage_rows (ledger_id, id, item, kind, open, opened_seq, body)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: update_triage
-- A record has no version of its own: the bytes that were loaded stand for it.
UPDATE triage_rows SET item = ?, kind = ?, open = ?, opened_seq = ?, body = ?
 WHERE ledger_id = ? AND id = ? AND body = ?;

-- name: delete_triage
DELETE FROM triage_rows WHERE ledger_id = ? AND id = ? AND body = ?;

-- name: insert_fact
INSERT INTO fact_rows (ledger_id, kind, id, version, body) VALUES (?, ?, ?, ?, ?);

-- name: update_fact
UPDATE fact_rows SET version = ?, body = ?
 WHERE ledger_id = ? AND kind = ? AND id = ? AND version = ? AND body = ?;

-- name: delete_fact
DELETE FROM fact_rows
 WHERE ledger_id = ? AND kind = ? AND id = ? AND version = ? AND body = ?;

-- name: all_items
SELECT id, number, status, lane, rank, gate, hold_reason, hold_trigger, hold_at, hold_rank, follows,
       lease_fence, lease_expires_at, lease_actor, text_digest, unmet, version, state
  FROM item_rows WHERE ledger_id = ? ORDER BY id;

-- name: all_edges
SELECT via, kind, state, dependent, target FROM edge_rows
 WHERE ledger_id = ? ORDER BY via, kind, state, dependent, target;

-- name: all_children
SELECT parent, child FROM child_rows WHERE ledger_id = ? ORDER BY parent, child;

-- name: all_links
SELECT upper, lower FROM link_rows WHERE ledger_id = ? ORDER BY upper, lower;

-- name: all_lanes
SELECT id, passed, ready, body FROM lane_rows WHERE ledger_id = ? ORDER BY id;

-- name: all_aliases
SELECT alias, item FROM alias_rows WHERE ledger_id = ? ORDER BY alias;

-- name: all_triage
SELECT id, item, kind, open, opened_seq, body FROM triage_rows WHERE ledger_id = ? ORDER BY id;

-- name: all_facts
SELECT kind, id, version, body FROM fact_rows WHERE ledger_id = ? ORDER BY kind, id;

-- name: clear_items
DELETE FROM item_rows;

-- name: clear_edges
DELETE FROM edge_rows;

-- name: clear_children
DELETE FROM child_rows;

-- name: clear_links
DELETE FROM link_rows;

-- name: clear_lanes
DELETE FROM lane_rows;

-- name: clear_aliases
DELETE FROM alias_rows;

-- name: clear_triage
DELETE FROM triage_rows;

-- name: clear_facts
DELETE FROM fact_rows;

-- name: statements
-- As bytes, since what was damaged need not be text any more; SQLite's own statistics may differ.
SELECT cast(name AS BLOB), cast(coalesce(sql, '') AS BLOB)
  FROM sqlite_schema
 WHERE name NOT LIKE 'sqlite\_stat%' ESCAPE '\';
