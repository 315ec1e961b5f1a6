-- Every statement that the PostgreSQL store runs, by name. A block is the line `-- name: …`, comment
-- lines that say why it is as it is, and one statement. Parameters are positional, in the order of the
-- text. Lists are given as arrays, one for each column, so that a batch is one statement and one trip.
-- Where a join with such a list could tempt the planner to read a whole table, the look-up stands in a
-- LATERAL that goes into the index once for each element.

-- name: place
-- The database that this is: a dump restored elsewhere finds itself in another one.
SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system())::text || '/'
       || (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())::text;

-- name: installed
SELECT pg_catalog.to_regclass('remit.store_state') IS NOT NULL;

-- name: applied
SELECT name FROM remit.migrations;

-- name: note_migration
INSERT INTO remit.migrations (name) VALUES (%s) ON CONFLICT DO NOTHING;

-- name: lock_schema
SELECT pg_catalog.pg_advisory_xact_lock(7236841);

-- name: as_owner
SET LOCAL ROLE remit_owner;

-- name: as_writer
SET LOCAL ROLE remit_writer;

-- name: as_reader
SET LOCAL ROLE remit_reader;

-- name: has_ledger
SELECT 1 FROM remit.store_state WHERE ledger_id = %s;

-- name: ledgers
SELECT ledger_id FROM remit.store_state ORDER BY ledger_id LIMIT 20;

-- name: rows_due
-- Whether the rows of a ledger were written by an older version.
SELECT 1 FROM remit.rows_due WHERE ledger_id = %s;

-- name: rows_made
DELETE FROM remit.rows_due WHERE ledger_id = %s;

-- name: state
-- Everything that a transaction has to know before its first step, in one row. Its statement's text
-- comes after BEGIN in one message, so the id is written into it.
SELECT s.ledger_id, s.epoch, s.adoption_required, s.place, s.boot_id, s.boot_us, s.ledger_us,
       s.offset_us, coalesce(e.seq, 0), coalesce(e.created_at, 0),
       (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint
  FROM remit.store_state AS s
  LEFT JOIN LATERAL (SELECT seq, created_at FROM remit.events
                      WHERE ledger_id = s.ledger_id ORDER BY seq DESC LIMIT 1) AS e ON true
 WHERE s.ledger_id = {ledger_id};

-- name: wall
SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint;

-- name: first_state
INSERT INTO remit.store_state
       (ledger_id, epoch, adoption_required, place, boot_id, boot_us, ledger_us, offset_us)
VALUES (%s, 0, false, %s, %s, %s, %s, 0)
ON CONFLICT DO NOTHING;

-- name: lock
-- One writer a ledger. The first key is the queue, held until the commit by writers that are not
-- urgent, so that at most one of them competes for the second, which is the writer's lock itself and
-- which PostgreSQL hands on in the order of asking. An urgent writer asks for the second at once.
-- Along with it, a server that would answer a commit before it is on the disk is asked for the disk,
-- in each write, since that setting can change at any time; a stronger one stays (INV-22).
SELECT pg_catalog.pg_advisory_xact_lock({queue}), pg_catalog.pg_advisory_xact_lock({writer}),
       CASE WHEN pg_catalog.current_setting('synchronous_commit') = 'off'
            THEN pg_catalog.set_config('synchronous_commit', 'on', true) END;

-- name: lock_urgent
SELECT pg_catalog.pg_advisory_xact_lock({writer}),
       CASE WHEN pg_catalog.current_setting('synchronous_commit') = 'off'
            THEN pg_catalog.set_config('synchronous_commit', 'on', true) END;

-- name: keep_clock
-- Compare-and-set on the time that was loaded.
UPDATE remit.store_state
   SET boot_id = %s, boot_us = %s, ledger_us = %s, offset_us = %s, epoch = %s,
       adoption_required = %s, place = %s
 WHERE ledger_id = %s AND ledger_us = %s AND epoch = %s;

-- name: mark_copied
-- A copy takes no writes until it is adopted.
UPDATE remit.store_state SET adoption_required = true WHERE ledger_id = %s;

-- name: holder
-- Who holds an advisory lock on a 64-bit key: PostgreSQL shows it as two halves.
SELECT a.pid, a.application_name FROM pg_catalog.pg_locks AS l
  JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
 WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
   AND l.database = (SELECT oid FROM pg_catalog.pg_database
                      WHERE datname = pg_catalog.current_database())
   AND l.classid::bigint = (%s >> 32) & 4294967295 AND l.objid::bigint = %s & 4294967295
 LIMIT 1;

-- name: append
INSERT INTO remit.events (ledger_id, seq, stream, stream_version, type, actor, assurance, created_at,
                          payload, digest, command_id, command_digest, trace_context,
                          conversation_ref)
SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::text[],
                     %s::text[], %s::bigint[], %s::bytea[], %s::bytea[], %s::text[], %s::bytea[],
                     %s::text[], %s::text[]);

-- name: events
SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
  FROM remit.events WHERE ledger_id = %s AND seq > %s ORDER BY seq LIMIT %s;

-- name: at_seq
SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
  FROM remit.events WHERE ledger_id = %s AND seq = ANY(%s::bigint[]) ORDER BY seq;

-- name: stream
SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
  FROM remit.events WHERE ledger_id = %s AND stream = %s AND stream_version > %s
 ORDER BY stream_version LIMIT %s;

-- name: stream_versions
-- To say what is wrong with an event that was refused.
SELECT asked.stream, coalesce((SELECT max(e.stream_version) FROM remit.events AS e
                              WHERE e.ledger_id = %s AND e.stream = asked.stream), 0)
  FROM unnest(%s::text[]) AS asked(stream);

-- name: commands
SELECT e.*
  FROM unnest(%s::text[]) AS asked(id)
 CROSS JOIN LATERAL (SELECT ledger_id, seq, stream, stream_version, type, actor, assurance, created_at, payload, digest,
       command_id, command_digest, trace_context, conversation_ref
                       FROM remit.events
                      WHERE ledger_id = %s AND command_id = asked.id ORDER BY seq) AS e;

-- name: put_blobs
-- One that is there, erased or not, is left as it is.
INSERT INTO remit.blobs (ledger_id, digest, salt, data)
SELECT %s, n.digest, n.salt, n.data
  FROM unnest(%s::bytea[], %s::bytea[], %s::bytea[]) AS n(digest, salt, data)
ON CONFLICT DO NOTHING;

-- name: erase_blobs
UPDATE remit.blobs SET salt = NULL, data = NULL
 WHERE ledger_id = %s AND digest = ANY(%s::bytea[]) AND data IS NOT NULL;

-- name: blobs
SELECT digest, data FROM remit.blobs
 WHERE ledger_id = %s AND digest = ANY(%s::bytea[]) AND data IS NOT NULL;

-- name: stored_blobs
SELECT digest, salt, data FROM remit.blobs
 WHERE ledger_id = %s AND digest > %s ORDER BY digest LIMIT %s;

-- name: small
-- What every decision may need: one range of the primary key for each kind. As a join with a list of
-- kinds it would be planned as a read of the whole table.
SELECT kind, id, body FROM remit.fact_rows WHERE ledger_id = %s AND kind = 'counter'
 UNION ALL
SELECT kind, id, body FROM remit.fact_rows WHERE ledger_id = %s AND kind = 'count'
 UNION ALL
SELECT kind, id, body FROM remit.fact_rows WHERE ledger_id = %s AND kind = 'ledger';

-- name: load
-- Facts of any kinds in one trip. Each branch looks into its table only where the kind is its own.
-- Every index of items begins with the ledger, and while the table is small any of them looks good; a
-- plan made then is kept. The order that is asked for makes the primary key the only good one.
SELECT asked.kind, i.id, i.state FROM unnest(%s::text[], %s::text[]) AS asked(kind, id)
 CROSS JOIN LATERAL (
   (SELECT id, state FROM remit.item_rows
    WHERE asked.kind = 'item' AND ledger_id = %s AND id >= asked.id AND id <= asked.id
    ORDER BY id LIMIT 1)
   UNION ALL
   SELECT alias, convert_to(item, 'UTF8') FROM remit.alias_rows
    WHERE asked.kind = 'alias' AND ledger_id = %s AND alias = asked.id
   UNION ALL
   SELECT id, body FROM remit.lane_rows
    WHERE asked.kind = 'lane' AND ledger_id = %s AND id = asked.id
   UNION ALL
   SELECT id, body FROM remit.triage_rows
    WHERE asked.kind = 'triage' AND ledger_id = %s AND id = asked.id
   UNION ALL
   SELECT id, body FROM remit.fact_rows
    WHERE ledger_id = %s AND kind = asked.kind AND id = asked.id
   LIMIT 1) AS i;

-- name: ready
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND status = 'ready' AND lane = %s AND (rank, number) > (%s, %s)
 ORDER BY rank, number LIMIT %s;

-- name: dependents
SELECT dependent, target, kind, state FROM remit.edge_rows
 WHERE ledger_id = %s AND via = %s
 ORDER BY kind, state, dependent, target LIMIT %s;

-- name: awaited
SELECT asked.id FROM unnest(%s::text[]) AS asked(id)
 CROSS JOIN LATERAL (SELECT 1 FROM remit.edge_rows
                      WHERE ledger_id = %s AND via = asked.id LIMIT 1) AS found;

-- name: waiting
-- The states that are looked for are given, since the index finds equals and not others.
SELECT e.dependent, e.target, e.kind, e.state FROM unnest(%s::text[]) AS other(state)
 CROSS JOIN LATERAL (SELECT dependent, target, kind, state FROM remit.edge_rows
                      WHERE ledger_id = %s AND via = %s AND kind = %s AND state = other.state
                      ORDER BY dependent, target LIMIT %s) AS e
 ORDER BY e.state, e.dependent, e.target LIMIT %s;

-- name: children
SELECT child FROM remit.child_rows
 WHERE ledger_id = %s AND parent = %s ORDER BY child LIMIT %s;

-- name: linked
-- What hangs on one upper end, by name.
SELECT lower FROM remit.link_rows
 WHERE ledger_id = %s AND upper = %s AND lower > %s ORDER BY lower LIMIT %s;

-- name: find_links
-- Upper ends that begin alike, such as commits by a beginning of their name.
SELECT upper, lower FROM remit.link_rows
 WHERE ledger_id = %s AND upper >= %s AND upper < %s ORDER BY upper, lower LIMIT %s;

-- name: lanes
SELECT id FROM remit.lane_rows
 WHERE ledger_id = %s AND ready > 0 ORDER BY passed, id LIMIT %s;

-- name: unmet_of
-- One step of the search for a cycle: where the unmet edges of a whole level of items lead.
SELECT asked.id, e.via FROM unnest(%s::text[]) AS asked(id)
 CROSS JOIN LATERAL (SELECT DISTINCT via FROM remit.edge_rows
                      WHERE ledger_id = %s AND dependent = asked.id AND state = 'unmet') AS e
 ORDER BY e.via;

-- name: due
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND lease_expires_at <= %s ORDER BY lease_expires_at, id LIMIT %s;

-- name: next_expiry
SELECT lease_expires_at FROM remit.item_rows
 WHERE ledger_id = %s AND lease_expires_at IS NOT NULL
 ORDER BY lease_expires_at LIMIT 1;

-- name: held
-- What waits for a trigger, by place in line.
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND hold_trigger = %s AND (hold_rank, number) > (%s, %s)
 ORDER BY hold_rank, number LIMIT %s;

-- name: waking
-- What is held until a time that has come, and what is ready and past its lifetime. Leased rows keep
-- their time and are passed over.
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND hold_at <= %s AND status <> 'leased' ORDER BY hold_at, number LIMIT %s;

-- name: next_wake
SELECT hold_at FROM remit.item_rows
 WHERE ledger_id = %s AND hold_at IS NOT NULL AND status <> 'leased'
 ORDER BY hold_at LIMIT 1;

-- name: followers
-- What was coalesced onto one item.
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND follows = %s ORDER BY number LIMIT %s;

-- name: leased_before
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND lease_fence < %s ORDER BY lease_fence LIMIT %s;

-- name: gated_forward
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND status = 'draft' AND gate = %s AND number > %s
 ORDER BY number LIMIT %s;

-- name: held_forward
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND status = 'held' AND hold_reason = %s AND number > %s
 ORDER BY number LIMIT %s;

-- name: items_forward
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND number > %s ORDER BY number LIMIT %s;

-- name: status_forward
-- Each status has a range of its own in the index; no more than a page of each is read.
SELECT i.id FROM unnest(%s::text[]) AS wanted(status)
 CROSS JOIN LATERAL (SELECT id, number FROM remit.item_rows
                      WHERE ledger_id = %s AND status = wanted.status AND number > %s
                      ORDER BY number LIMIT %s) AS i
 ORDER BY i.number LIMIT %s;

-- name: gated_backward
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND status = 'draft' AND gate = %s AND number < %s
 ORDER BY number DESC LIMIT %s;

-- name: held_backward
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND status = 'held' AND hold_reason = %s AND number < %s
 ORDER BY number DESC LIMIT %s;

-- name: items_backward
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND number < %s ORDER BY number DESC LIMIT %s;

-- name: status_backward
SELECT i.id FROM unnest(%s::text[]) AS wanted(status)
 CROSS JOIN LATERAL (SELECT id, number FROM remit.item_rows
                      WHERE ledger_id = %s AND status = wanted.status AND number < %s
                      ORDER BY number DESC LIMIT %s) AS i
 ORDER BY i.number DESC LIMIT %s;

-- name: titles
-- What a text search looks at: the item with its title, and the blob that holds its text.
SELECT i.id, i.number, i.state, b.data FROM unnest(%s::text[]) AS asked(id)
 CROSS JOIN LATERAL (SELECT id, number, state, text_digest FROM remit.item_rows
                      WHERE ledger_id = %s AND id = asked.id LIMIT 1) AS i
  LEFT JOIN LATERAL (SELECT data FROM remit.blobs
                      WHERE ledger_id = %s AND digest = i.text_digest LIMIT 1) AS b ON true;

-- name: find_items
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND id >= %s AND id < %s ORDER BY id LIMIT %s;

-- name: find_aliases
SELECT alias FROM remit.alias_rows
 WHERE ledger_id = %s AND alias >= %s AND alias < %s ORDER BY alias LIMIT %s;

-- name: find_triage
SELECT id FROM remit.triage_rows
 WHERE ledger_id = %s AND id >= %s AND id < %s ORDER BY id LIMIT %s;

-- name: find_facts
SELECT id FROM remit.fact_rows
 WHERE ledger_id = %s AND kind = %s AND id >= %s AND id < %s ORDER BY id LIMIT %s;

-- name: name_items
SELECT id FROM remit.item_rows
 WHERE ledger_id = %s AND id > %s ORDER BY id LIMIT %s;

-- name: name_aliases
SELECT alias FROM remit.alias_rows
 WHERE ledger_id = %s AND alias > %s ORDER BY alias LIMIT %s;

-- name: name_triage
SELECT id FROM remit.triage_rows
 WHERE ledger_id = %s AND id > %s ORDER BY id LIMIT %s;

-- name: name_lanes
SELECT id FROM remit.lane_rows
 WHERE ledger_id = %s AND id > %s ORDER BY id LIMIT %s;

-- name: name_facts
SELECT id FROM remit.fact_rows
 WHERE ledger_id = %s AND kind = %s AND id > %s ORDER BY id LIMIT %s;

-- name: triage
SELECT id FROM remit.triage_rows
 WHERE ledger_id = %s ORDER BY opened_seq, id LIMIT %s;

-- name: triage_open
SELECT id FROM remit.triage_rows
 WHERE ledger_id = %s AND open = 1 ORDER BY opened_seq, id LIMIT %s;

-- name: open_records
-- Counted in the index of open records alone.
SELECT count(*) FROM remit.triage_rows WHERE ledger_id = %s AND open = 1;

-- name: insert_item
-- A row that is there already is left, and the count then shows it: an error would end the
-- transaction before anybody could say which row it was.
INSERT INTO remit.item_rows (ledger_id, id, number, status, lane, rank, gate, hold_reason,
                             hold_trigger, hold_at, hold_rank, follows, lease_fence,
                             lease_expires_at, lease_actor, text_digest, unmet, version, state)
SELECT %s, n.* FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::bigint[],
                           %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
                           %s::text[], %s::bigint[], %s::bigint[], %s::text[],
                           %s::bytea[], %s::bigint[], %s::bigint[], %s::bytea[]) AS n
ON CONFLICT DO NOTHING;

-- name: update_item
-- Compare-and-set on the version that was loaded, as every update below. The row is found as in load.
UPDATE remit.item_rows AS t
   SET status = n.status, lane = n.lane, rank = n.rank, gate = n.gate,
       hold_reason = n.hold_reason, hold_trigger = n.hold_trigger, hold_at = n.hold_at,
       hold_rank = n.hold_rank, follows = n.follows, lease_fence = n.lease_fence, lease_expires_at = n.lease_expires_at,
       lease_actor = n.lease_actor, text_digest = n.text_digest, unmet = n.unmet,
       version = n.version, state = n.state
  FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::text[],
              %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[],
              %s::bigint[], %s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::bytea[],
              %s::bigint[])
       AS n(id, number, status, lane, rank, gate, hold_reason, hold_trigger, hold_at, hold_rank,
            follows, lease_fence, lease_expires_at,
            lease_actor, text_digest, unmet, version, state, was)
 CROSS JOIN LATERAL (SELECT ctid, number, version FROM remit.item_rows
                      WHERE ledger_id = %s AND id >= n.id AND id <= n.id
                      ORDER BY id LIMIT 1) AS f
 WHERE t.ctid = f.ctid AND f.number = n.number AND f.version = n.was;

-- name: delete_item
DELETE FROM remit.item_rows AS t USING unnest(%s::text[], %s::bigint[]) AS n(id, was)
 WHERE t.ledger_id = %s AND t.id = n.id AND t.version = n.was;

-- name: insert_edge
INSERT INTO remit.edge_rows (ledger_id, via, kind, state, dependent, target)
SELECT %s, n.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[]) AS n
ON CONFLICT DO NOTHING;

-- name: delete_edge
DELETE FROM remit.edge_rows AS t
 USING unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[])
       AS n(via, kind, state, dependent, target)
 WHERE t.ledger_id = %s AND t.via = n.via AND t.kind = n.kind AND t.state = n.state AND t.dependent = n.dependent AND t.target = n.target;

-- name: insert_child
INSERT INTO remit.child_rows (ledger_id, parent, child)
SELECT %s, n.* FROM unnest(%s::text[], %s::text[]) AS n
ON CONFLICT DO NOTHING;

-- name: delete_child
DELETE FROM remit.child_rows AS t
 USING unnest(%s::text[], %s::text[])
       AS n(parent, child)
 WHERE t.ledger_id = %s AND t.parent = n.parent AND t.child = n.child;

-- name: insert_link
INSERT INTO remit.link_rows (ledger_id, upper, lower)
SELECT %s, n.* FROM unnest(%s::text[], %s::text[]) AS n
ON CONFLICT DO NOTHING;

-- name: delete_link
DELETE FROM remit.link_rows AS t
 USING unnest(%s::text[], %s::text[])
       AS n(upper, lower)
 WHERE t.ledger_id = %s AND t.upper = n.upper AND t.lower = n.lower;

-- name: insert_alias
INSERT INTO remit.alias_rows (ledger_id, alias, item)
SELECT %s, n.* FROM unnest(%s::text[], %s::text[]) AS n
ON CONFLICT DO NOTHING;

-- name: update_alias
UPDATE remit.alias_rows AS t
   SET item = n.item
  FROM unnest(%s::text[], %s::text[], %s::text[])
       AS n(alias, item, was)
 WHERE t.ledger_id = %s AND t.alias = n.alias AND t.item = n.was;

-- name: delete_alias
DELETE FROM remit.alias_rows AS t USING unnest(%s::text[], %s::text[]) AS n(alias, was)
 WHERE t.ledger_id = %s AND t.alias = n.alias AND t.item = n.was;

-- name: insert_triage
INSERT INTO remit.triage_rows (ledger_id, id, item, kind, open, opened_seq, body)
SELECT %s, n.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
                           %s::bytea[]) AS n
ON CONFLICT DO NOTHING;

-- name: update_triage
-- A fact without a version of its own: the bytes that were loaded stand for it.
UPDATE remit.triage_rows AS t
   SET item = n.item, kind = n.kind, open = n.open, opened_seq = n.opened_seq, body = n.body
  FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bytea[],
              %s::bytea[])
       AS n(id, item, kind, open, opened_seq, body, was)
 WHERE t.ledger_id = %s AND t.id = n.id AND t.body = n.was;

-- name: delete_triage
DELETE FROM remit.triage_rows AS t USING unnest(%s::text[], %s::bytea[]) AS n(id, was)
 WHERE t.ledger_id = %s AND t.id = n.id AND t.body = n.was;

-- name: insert_lane
INSERT INTO remit.lane_rows (ledger_id, id, passed, ready, body)
SELECT %s, n.* FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bytea[]) AS n
ON CONFLICT DO NOTHING;

-- name: update_lane
UPDATE remit.lane_rows AS t
   SET passed = n.passed, ready = n.ready, body = n.body
  FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bytea[], %s::bytea[])
       AS n(id, passed, ready, body, was)
 WHERE t.ledger_id = %s AND t.id = n.id AND t.body = n.was;

-- name: delete_lane
DELETE FROM remit.lane_rows AS t USING unnest(%s::text[], %s::bytea[]) AS n(id, was)
 WHERE t.ledger_id = %s AND t.id = n.id AND t.body = n.was;

-- name: insert_fact
INSERT INTO remit.fact_rows (ledger_id, kind, id, version, body)
SELECT %s, n.* FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bytea[]) AS n
ON CONFLICT DO NOTHING;

-- name: update_fact
UPDATE remit.fact_rows AS t
   SET version = n.version, body = n.body
  FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bytea[], %s::bytea[])
       AS n(kind, id, version, body, was)
 WHERE t.ledger_id = %s AND t.kind = n.kind AND t.id = n.id AND t.body = n.was;

-- name: delete_fact
DELETE FROM remit.fact_rows AS t USING unnest(%s::text[], %s::text[], %s::bytea[]) AS n(kind, id, was)
 WHERE t.ledger_id = %s AND t.kind = n.kind AND t.id = n.id AND t.body = n.was;

-- name: all_items
SELECT id, number, status, lane, rank, gate, hold_reason, hold_trigger, hold_at, hold_rank, follows,
       lease_fence, lease_expires_at, lease_actor, text_digest, unmet, version, state
  FROM remit.item_rows WHERE ledger_id = %s ORDER BY id;

-- name: clear_items
DELETE FROM remit.item_rows WHERE ledger_id = %s;

-- name: all_edges
SELECT via, kind, state, dependent, target
  FROM remit.edge_rows WHERE ledger_id = %s ORDER BY via, kind, state, dependent, target;

-- name: clear_edges
DELETE FROM remit.edge_rows WHERE ledger_id = %s;

-- name: all_children
SELECT parent, child
  FROM remit.child_rows WHERE ledger_id = %s ORDER BY parent, child;

-- name: clear_children
DELETE FROM remit.child_rows WHERE ledger_id = %s;

-- name: all_links
SELECT upper, lower
  FROM remit.link_rows WHERE ledger_id = %s ORDER BY upper, lower;

-- name: clear_links
DELETE FROM remit.link_rows WHERE ledger_id = %s;

-- name: all_aliases
SELECT alias, item
  FROM remit.alias_rows WHERE ledger_id = %s ORDER BY alias;

-- name: clear_aliases
DELETE FROM remit.alias_rows WHERE ledger_id = %s;

-- name: all_triage
SELECT id, item, kind, open, opened_seq, body
  FROM remit.triage_rows WHERE ledger_id = %s ORDER BY id;

-- name: clear_triage
DELETE FROM remit.triage_rows WHERE ledger_id = %s;

-- name: all_lanes
SELECT id, passed, ready, body
  FROM remit.lane_rows WHERE ledger_id = %s ORDER BY id;

-- name: clear_lanes
DELETE FROM remit.lane_rows WHERE ledger_id = %s;

-- name: all_facts
SELECT kind, id, version, body
  FROM remit.fact_rows WHERE ledger_id = %s ORDER BY kind, id;

-- name: clear_facts
DELETE FROM remit.fact_rows WHERE ledger_id = %s;
