-- Today's schema of a ledger in SQLite: what the migrations add up to (a test compares them).
--
-- Three groups. The history: `events` and the blobs that they name, which the database itself lets
-- nobody change (INV-20). The rows: what the events fold to, one table for each hot kind, which can
-- be made again from the events at any time (INV-21). `store_state`: the clock and the epoch.
--
-- The ledger's id leads every key, as it does in stores that keep many ledgers in one database.
-- Constraints repeat what the core guarantees, so that a fault in either is caught by the other.

-- One row. `boot_id`, `boot_us` and `ledger_us` are the clock as of the last commit that had to keep it:
-- any later moment of that boot follows, and the newest event has a time of its own. `offset_us` is how far
-- the wall clock was from the ledger's clock when that was last recorded (INV-24).
CREATE TABLE store_state (
  ledger_id TEXT NOT NULL PRIMARY KEY CHECK (ledger_id <> ''),
  epoch INTEGER NOT NULL CHECK (epoch >= 0),
  adoption_required INTEGER NOT NULL CHECK (adoption_required IN (0, 1)),
  boot_id TEXT NOT NULL,
  boot_us INTEGER NOT NULL,
  ledger_us INTEGER NOT NULL CHECK (ledger_us >= 0),
  offset_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER store_state_is_one_row BEFORE INSERT ON store_state
WHEN EXISTS (SELECT 1 FROM store_state)
BEGIN
  SELECT RAISE(ABORT, 'store_state: a database holds one ledger');
END;

CREATE TRIGGER store_state_goes_forward BEFORE UPDATE ON store_state
WHEN NEW.ledger_us < OLD.ledger_us OR NEW.epoch < OLD.epoch OR NEW.ledger_id <> OLD.ledger_id
BEGIN
  SELECT RAISE(ABORT, 'store_state: time and epoch never go back and the ledger id stays');
END;

CREATE TRIGGER store_state_stays BEFORE DELETE ON store_state
BEGIN
  SELECT RAISE(ABORT, 'store_state: the row stays');
END;

-- `seq` is the rowid as well: an append is then one insertion at the end of one tree. A primary key
-- of (ledger_id, seq) without rowid was measured on 60,000 events: appends 1.6 times slower with
-- payloads of 140 bytes, and 3.5 times slower, in a file three times as large, with 900.
CREATE TABLE events (
  ledger_id TEXT NOT NULL,
  seq INTEGER NOT NULL PRIMARY KEY,
  stream TEXT NOT NULL CHECK (stream <> ''),
  stream_version INTEGER NOT NULL,
  type TEXT NOT NULL CHECK (type <> ''),
  actor TEXT NOT NULL CHECK (actor <> ''),
  assurance TEXT NOT NULL
    CHECK (assurance = 'asserted' OR assurance = 'token' OR assurance = 'signature'
      OR assurance = 'signature+presence'),
  created_at INTEGER NOT NULL CHECK (created_at >= 0),
  payload BLOB NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  command_id TEXT CHECK (command_id <> ''),
  command_digest BLOB CHECK (command_digest IS NULL OR command_id IS NOT NULL),
  trace_context TEXT CHECK (trace_context <> ''),
  conversation_ref TEXT CHECK (conversation_ref <> ''),
  UNIQUE (ledger_id, stream, stream_version)
) STRICT;

CREATE INDEX events_by_command ON events (ledger_id, command_id) WHERE command_id IS NOT NULL;

-- Demanding the next number refuses INSERT OR REPLACE as well: what is refused here can never be
-- in conflict with a stored event. (REPLACE deletes without firing DELETE triggers unless
-- recursive_triggers is on, so the trigger on DELETE alone would not do.)
CREATE TRIGGER events_continue BEFORE INSERT ON events
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
      THEN RAISE(ABORT, 'events: seq is not the highest plus one')
    WHEN NEW.stream_version IS NOT (
        SELECT coalesce(max(stream_version), 0) + 1 FROM events
         WHERE ledger_id = NEW.ledger_id AND stream = NEW.stream)
      THEN RAISE(ABORT, 'events: stream_version is not the highest of its stream plus one')
    WHEN NEW.created_at < (SELECT created_at FROM events WHERE seq = NEW.seq - 1)
      THEN RAISE(ABORT, 'events: created_at is before the event before it')
    WHEN NEW.ledger_id IS NOT (SELECT ledger_id FROM store_state)
      THEN RAISE(ABORT, 'events: ledger_id is another ledger''s')
  END;
END;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'events: an event is never changed');
END;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'events: an event is never deleted');
END;

-- Long or foreign text. Erasing one sets salt and data to null and leaves its digest.
CREATE TABLE blobs (
  ledger_id TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  salt BLOB,
  data BLOB,
  PRIMARY KEY (ledger_id, digest),
  CHECK ((salt IS NULL) = (data IS NULL))
) STRICT;

-- Here for INSERT OR REPLACE, which would put an erased blob's bytes back, or others in their place.
CREATE TRIGGER blobs_are_new BEFORE INSERT ON blobs
WHEN EXISTS (SELECT 1 FROM blobs WHERE ledger_id = NEW.ledger_id AND digest = NEW.digest)
BEGIN
  SELECT RAISE(ABORT, 'blobs: there is a blob of this digest');
END;

CREATE TRIGGER blobs_are_only_erased BEFORE UPDATE ON blobs
WHEN NEW.ledger_id IS NOT OLD.ledger_id OR NEW.digest IS NOT OLD.digest
  OR NEW.salt IS NOT NULL OR NEW.data IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'blobs: a blob can only be erased');
END;

CREATE TRIGGER blobs_leave_their_digest BEFORE DELETE ON blobs
BEGIN
  SELECT RAISE(ABORT, 'blobs: erasing leaves the digest');
END;

-- Work items. `state` is the whole fact; the columns beside it are what queries select and order by.
-- `text_digest` names the blob that holds text from outside.
CREATE TABLE item_rows (
  ledger_id TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number >= 1),
  status TEXT NOT NULL CHECK (status = 'leased' OR status = 'in-review' OR status = 'ready'
    OR status = 'held' OR status = 'draft' OR status = 'verified' OR status = 'shipped'
    OR status = 'approved' OR status = 'triaged' OR status = 'closed'),
  lane TEXT NOT NULL,
  rank INTEGER NOT NULL,
  gate TEXT NOT NULL,
  hold_reason TEXT,
  lease_fence INTEGER CHECK (lease_fence > 0),
  lease_expires_at INTEGER CHECK (lease_expires_at > 0),
  lease_actor TEXT CHECK (lease_actor <> ''),
  text_digest BLOB CHECK (length(text_digest) = 32),
  unmet INTEGER NOT NULL CHECK (unmet >= 0),
  version INTEGER NOT NULL CHECK (version >= 1),
  state BLOB NOT NULL,
  hold_trigger TEXT CHECK (hold_trigger <> ''),
  hold_at INTEGER CHECK (hold_at > 0),
  hold_rank INTEGER,
  follows TEXT CHECK (follows <> ''),
  PRIMARY KEY (ledger_id, id),
  CHECK ((status = 'leased') = (lease_fence IS NOT NULL)),
  CHECK ((lease_fence IS NULL) = (lease_expires_at IS NULL)),
  CHECK ((lease_fence IS NULL) = (lease_actor IS NULL)),
  CHECK (status <> 'ready' OR unmet = 0),
  CHECK (status <> 'held' OR coalesce(hold_reason, '') <> '')
) STRICT;

CREATE UNIQUE INDEX item_rows_by_number ON item_rows (ledger_id, number);
-- Leased items are few and have an index by fence; without them here a lease and its end touch one
-- page less each.
CREATE INDEX item_rows_by_status ON item_rows (ledger_id, status, number)
  WHERE status <> 'leased';
CREATE INDEX item_rows_ready ON item_rows (ledger_id, lane, rank, number, id)
  WHERE status = 'ready';
CREATE INDEX item_rows_due ON item_rows (ledger_id, lease_expires_at, id)
  WHERE lease_expires_at IS NOT NULL;
CREATE UNIQUE INDEX item_rows_by_fence ON item_rows (ledger_id, lease_fence)
  WHERE lease_fence IS NOT NULL;
CREATE INDEX item_rows_gated ON item_rows (ledger_id, gate, number, id) WHERE status = 'draft';
CREATE INDEX item_rows_held ON item_rows (ledger_id, hold_reason, number, id)
  WHERE status = 'held';
CREATE INDEX item_rows_waiting ON item_rows (ledger_id, hold_trigger, hold_rank, number, id)
  WHERE hold_trigger IS NOT NULL;
CREATE INDEX item_rows_waking ON item_rows (ledger_id, hold_at, number, id)
  WHERE hold_at IS NOT NULL;
CREATE INDEX item_rows_following ON item_rows (ledger_id, follows, number, id)
  WHERE follows IS NOT NULL;

-- Dependency edges of items that are not finished, by the item that each is judged by. Derived
-- from the dependent's own fact. The key's order serves news: an item's edges of one kind that do
-- not know of its new state yet.
CREATE TABLE edge_rows (
  ledger_id TEXT NOT NULL,
  via TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'blocks' OR kind = 'parent-child'
    OR kind = 'conditional-blocks' OR kind = 'waits-for' OR kind = 'waits-for-child'),
  state TEXT NOT NULL CHECK (state = 'unmet' OR state = 'met' OR state = 'dead'),
  dependent TEXT NOT NULL,
  target TEXT NOT NULL,
  PRIMARY KEY (ledger_id, via, kind, state, dependent, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX edge_rows_by_dependent ON edge_rows (ledger_id, dependent, state, via);

-- Children of a parent, finished ones too. Derived from the child's own fact.
CREATE TABLE child_rows (
  ledger_id TEXT NOT NULL,
  parent TEXT NOT NULL,
  child TEXT NOT NULL,
  PRIMARY KEY (ledger_id, parent, child)
) STRICT, WITHOUT ROWID;

-- Links of traceability by their upper end: the items of a goal, the nodes and items of a requirement,
-- the items of a node, and those of a shipped commit (`commit/SHA`). Derived from the fact of the lower end.
CREATE TABLE link_rows (
  ledger_id TEXT NOT NULL,
  upper TEXT NOT NULL CHECK (upper <> ''),
  lower TEXT NOT NULL CHECK (lower <> ''),
  PRIMARY KEY (ledger_id, upper, lower)
) STRICT, WITHOUT ROWID;

CREATE TABLE alias_rows (
  ledger_id TEXT NOT NULL,
  alias TEXT NOT NULL CHECK (alias <> ''),
  item TEXT NOT NULL CHECK (item <> ''),
  PRIMARY KEY (ledger_id, alias)
) STRICT, WITHOUT ROWID;

CREATE TABLE triage_rows (
  ledger_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (id <> ''),
  item TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind <> ''),
  open INTEGER NOT NULL CHECK (open IN (0, 1)),
  opened_seq INTEGER NOT NULL CHECK (opened_seq >= 1),
  body BLOB NOT NULL,
  PRIMARY KEY (ledger_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX triage_rows_in_order ON triage_rows (ledger_id, opened_seq, id);
CREATE INDEX triage_rows_open ON triage_rows (ledger_id, opened_seq, id) WHERE open = 1;

CREATE TABLE lane_rows (
  ledger_id TEXT NOT NULL,
  id TEXT NOT NULL CHECK (id <> ''),
  passed INTEGER NOT NULL CHECK (passed >= 0),
  ready INTEGER NOT NULL CHECK (ready >= 0),
  body BLOB NOT NULL,
  PRIMARY KEY (ledger_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX lane_rows_in_turn ON lane_rows (ledger_id, passed, id) WHERE ready > 0;

-- Every other kind of fact. `version` is that of the fact, 0 where it has none.
CREATE TABLE fact_rows (
  ledger_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind <> '' AND kind <> 'item' AND kind <> 'alias'
    AND kind <> 'triage' AND kind <> 'lane'),
  id TEXT NOT NULL CHECK (id <> ''),
  version INTEGER NOT NULL CHECK (version >= 0),
  body BLOB NOT NULL,
  PRIMARY KEY (ledger_id, kind, id)
) STRICT, WITHOUT ROWID;

-- Views for people who audit with SQL. They read the same rows, and decide nothing.
CREATE VIEW items AS
SELECT ledger_id, id, number,
       state ->> '$.kind' AS kind,
       status,
       coalesce(nullif(state ->> '$.title', ''), (
         SELECT substr(cast(data AS TEXT), 1, instr(cast(data AS TEXT) || char(10), char(10)) - 1)
           FROM blobs
          WHERE blobs.ledger_id = rows.ledger_id AND digest = text_digest)) AS title,
       state ->> '$.priority' AS priority,
       state ->> '$.work_class' AS work_class,
       state ->> '$.tenant' AS tenant,
       state ->> '$.alias' AS alias,
       gate, hold_reason, lease_actor, lease_expires_at, unmet,
       state ->> '$.attempt' AS attempt,
       state ->> '$.outcome' AS outcome,
       state ->> '$.successor' AS successor,
       state ->> '$.work.shipped' AS observed_commit_sha,
       state ->> '$.created_at' AS created_at,
       state ->> '$.changed_at' AS changed_at,
       version, state
  FROM (SELECT ledger_id, id, number, status, gate, hold_reason, lease_actor, lease_expires_at,
               text_digest, unmet, version, cast(state AS TEXT) AS state
          FROM item_rows) AS rows;

CREATE VIEW leases AS
SELECT ledger_id,
       cast(state AS TEXT) ->> '$.lease.id' AS id,
       id AS item,
       cast(state AS TEXT) ->> '$.lease.attempt' AS attempt,
       lease_actor AS actor,
       cast(state AS TEXT) ->> '$.lease.acquired_at' AS acquired_at,
       cast(state AS TEXT) ->> '$.lease.ttl_ms' AS ttl_ms,
       lease_expires_at AS expires_at,
       lease_fence AS fence
  FROM item_rows
 WHERE status = 'leased';

CREATE VIEW holds AS
SELECT ledger_id, id AS item, number,
       hold_reason AS reason,
       cast(state AS TEXT) ->> '$.hold.owner' AS owner,
       cast(state AS TEXT) ->> '$.hold.identity' AS identity,
       hold_trigger AS trigger, hold_at AS recheck_at
  FROM item_rows
 WHERE status = 'held';

CREATE VIEW triage AS
SELECT ledger_id, id, item, kind, open, opened_seq,
       cast(body AS TEXT) ->> '$.resolution' AS resolution
  FROM triage_rows;

-- What became of effects. In a later epoch than it was known in, an effect with anything outside is
-- uncertain until it is looked up; `last_known` is what was known before.
CREATE VIEW effects AS
SELECT rows.ledger_id, rows.id,
       fact ->> '$.item' AS item,
       fact ->> '$.operation' AS operation,
       fact ->> '$.replay_class' AS replay_class,
       nullif(fact ->> '$.destination', '') AS destination,
       CASE WHEN fact ->> '$.epoch' < ledger ->> '$.epoch' AND fact ->> '$.replay_class' <> 'PURE'
            THEN 'UNCERTAIN' ELSE fact ->> '$.state' END AS state,
       fact ->> '$.state' AS last_known,
       fact ->> '$.epoch' AS epoch,
       nullif(fact ->> '$.attempt', '') AS attempt,
       nullif(fact ->> '$.lease', '') AS lease,
       nullif(fact ->> '$.fence', 0) AS fence,
       fact ->> '$.intents' AS intents,
       fact ->> '$.key' AS idempotency_key,
       nullif(fact ->> '$.payload_digest', '') AS payload_digest,
       nullif(fact ->> '$.intended_at', 0) AS intended_at,
       nullif(fact ->> '$.intended_seq', 0) AS intended_seq,
       sent.created_at AS sent_at, sent.seq AS sent_seq,
       nullif(fact ->> '$.response', '') AS response,
       answered.created_at AS answered_at, answered.seq AS answered_seq,
       fact ->> '$.receipt' AS receipt,
       nullif(fact ->> '$.result_digest', '') AS result_digest,
       nullif(fact ->> '$.ended', '') AS lease_ended,
       fact ->> '$.terminated_at' AS worker_ended_at,
       fact ->> '$.request_expires_at' AS request_expires_at,
       fact ->> '$.arrives_until' AS arrives_until,
       fact ->> '$.looks' AS looks,
       nullif(fact ->> '$.observation', '') AS observation,
       observed.created_at AS observed_at, observed.seq AS observed_seq,
       nullif(fact ->> '$.present_seq', 0) AS present_seq,
       nullif(fact ->> '$.absent_seq', 0) AS absent_seq,
       nullif(fact ->> '$.look_at', 0) AS next_look_at,
       fact ->> '$.repeating' AS repeating,
       nullif(fact ->> '$.compensates', '') AS compensates,
       rows.version
  FROM (SELECT e.ledger_id, e.id, e.version, cast(e.body AS TEXT) AS fact,
               cast(l.body AS TEXT) AS ledger
          FROM fact_rows AS e
          JOIN fact_rows AS l
            ON l.ledger_id = e.ledger_id AND l.kind = 'ledger' AND l.id = 'ledger'
         WHERE e.kind = 'effect') AS rows
  LEFT JOIN events AS sent ON sent.seq = fact ->> '$.sent_seq'
  LEFT JOIN events AS answered ON answered.seq = fact ->> '$.response_seq'
  LEFT JOIN events AS observed ON observed.seq = fact ->> '$.observed_seq';

-- Runs of the drain. Times in microseconds, money in micro-units; `bounds` is JSON. `items_live` and
-- `reserved_micros` are of what is not settled yet.
CREATE VIEW runs AS
SELECT ledger_id, id,
       fact ->> '$.status' AS status,
       fact ->> '$.started_at' AS started_at,
       nullif(fact ->> '$.stopped_at', 0) AS ended_at,
       fact ->> '$.bounds' AS bounds,
       nullif(fact ->> '$.stopped_by', '') AS stopped_by,
       fact ->> '$.actor' AS actor,
       nullif(fact ->> '$.reviewer', '') AS reviewer,
       fact ->> '$.agent' AS agent,
       fact ->> '$.decision' AS decision,
       fact ->> '$.started_by' AS started_by,
       fact ->> '$.ends_at' AS ends_at,
       fact ->> '$.chosen' AS items_chosen,
       json_array_length(fact, '$.live') AS items_live,
       fact ->> '$.failed' AS items_failed,
       (SELECT coalesce(sum(max(value ->> '$.reserved_micros', value ->> '$.spent_micros')), 0)
          FROM json_each(fact, '$.live')) AS reserved_micros,
       fact ->> '$.settled_micros' AS settled_micros,
       fact ->> '$.refusals' AS refusals,
       version
  FROM (SELECT ledger_id, id, version, cast(body AS TEXT) AS fact
          FROM fact_rows WHERE kind = 'run') AS rows;
