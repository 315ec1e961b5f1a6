-- Today's schema of ledgers in PostgreSQL: what the migrations add up to (a test compares catalogs).
--
-- The same three groups as in SQLite. The history: `events` and the blobs that they name, which the
-- database itself lets nobody change (INV-20), by triggers for every role and by rights for the
-- writer's. The rows: what the events fold to (INV-21). `store_state`: clock and epoch.
--
-- Many ledgers share a database: the ledger's id leads every key. Text compares by bytes (COLLATE "C"),
-- as it does in the core and in SQLite. Payloads and facts are bytea: jsonb would not keep the bytes
-- that digests cover. Names are written out in full everywhere, so no search path can bend them.
-- bootstrap.sql comes first; this runs as remit_owner.

CREATE TABLE remit.migrations (
  name text COLLATE "C" PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row a ledger. `boot_id`, `boot_us` and `ledger_us` are the clock of whoever committed last;
-- `offset_us` is how far the server's clock was from the ledger's when that was last recorded
-- (INV-24). `place` is the database that the ledger was adopted in: a dump that was restored
-- elsewhere finds itself in another one and takes no writes until it is adopted.
CREATE TABLE remit.store_state (
  ledger_id text COLLATE "C" PRIMARY KEY CHECK (ledger_id <> ''),
  epoch bigint NOT NULL CHECK (epoch >= 0),
  adoption_required boolean NOT NULL,
  place text NOT NULL CHECK (place <> ''),
  boot_id text NOT NULL,
  boot_us bigint NOT NULL,
  ledger_us bigint NOT NULL CHECK (ledger_us >= 0),
  offset_us bigint NOT NULL
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

CREATE FUNCTION remit.store_state_goes_forward() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.ledger_us < OLD.ledger_us OR NEW.epoch < OLD.epoch OR NEW.ledger_id <> OLD.ledger_id THEN
    RAISE EXCEPTION 'store_state: time and epoch never go back and the ledger id stays'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION remit.refused() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '%: %', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'check_violation';
END
$$;

CREATE TRIGGER store_state_goes_forward BEFORE UPDATE ON remit.store_state
  FOR EACH ROW EXECUTE FUNCTION remit.store_state_goes_forward();
CREATE TRIGGER store_state_stays BEFORE DELETE OR TRUNCATE ON remit.store_state
  FOR EACH STATEMENT EXECUTE FUNCTION remit.refused('the row stays');

CREATE TABLE remit.events (
  ledger_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 1),
  stream text COLLATE "C" NOT NULL CHECK (stream <> ''),
  stream_version bigint NOT NULL CHECK (stream_version >= 1),
  type text COLLATE "C" NOT NULL CHECK (type <> ''),
  actor text COLLATE "C" NOT NULL CHECK (actor <> ''),
  assurance text COLLATE "C" NOT NULL
    CHECK (assurance IN ('asserted', 'token', 'signature', 'signature+presence')),
  created_at bigint NOT NULL CHECK (created_at >= 0),
  payload bytea NOT NULL,
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  command_id text COLLATE "C" CHECK (command_id <> ''),
  command_digest bytea CHECK (command_digest IS NULL OR command_id IS NOT NULL),
  trace_context text COLLATE "C" CHECK (trace_context <> ''),
  conversation_ref text COLLATE "C" CHECK (conversation_ref <> ''),
  PRIMARY KEY (ledger_id, seq),
  CONSTRAINT events_by_stream UNIQUE (ledger_id, stream, stream_version)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX events_by_command ON remit.events (ledger_id, command_id, seq)
  WHERE command_id IS NOT NULL;

-- Looks at a whole statement's events at once, after they are in: for each ledger what is in front of
-- them and that nothing lies behind, for each event the one before it in its stream. That is enough for
-- streams without gaps: with a unique version, and each version's predecessor there and older, the
-- highest is the only one that can be followed. Every look-up asks for the last one in an index's
-- order, and the settings make any other way dear: a plan that was cached while the table was empty
-- must still do when it is not. Two writers that go past the advisory lock meet at the primary key, and
-- the second one is refused.
CREATE FUNCTION remit.events_continue() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  fault text;
  one_time boolean;
BEGIN
  SELECT min(CASE
      WHEN (SELECT s.ledger_id FROM remit.store_state AS s WHERE s.ledger_id = f.ledger_id) IS NULL
        THEN 'ledger_id is no ledger of this database'
      WHEN f.last - f.first + 1 <> f.many
        OR f.first <> 1 + coalesce((SELECT e.seq FROM remit.events AS e
                                     WHERE e.ledger_id = f.ledger_id AND e.seq < f.first
                                     ORDER BY e.seq DESC LIMIT 1), 0)
        OR f.last <> (SELECT e.seq FROM remit.events AS e
                       WHERE e.ledger_id = f.ledger_id ORDER BY e.seq DESC LIMIT 1)
        THEN 'seq is not the highest plus one'
      WHEN f.earliest < (SELECT e.created_at FROM remit.events AS e
                          WHERE e.ledger_id = f.ledger_id AND e.seq < f.first
                          ORDER BY e.seq DESC LIMIT 1)
        THEN 'created_at is before the event before it'
    END), bool_and(f.earliest = f.latest) INTO fault, one_time
    FROM (SELECT n.ledger_id, min(n.seq) AS first, max(n.seq) AS last, count(*) AS many,
                 min(n.created_at) AS earliest, max(n.created_at) AS latest
            FROM fresh AS n GROUP BY n.ledger_id) AS f;
  IF fault IS NULL AND NOT one_time THEN
    SELECT 'created_at is before the event before it' INTO fault
      FROM (SELECT n.created_at,
                   lag(n.created_at) OVER (PARTITION BY n.ledger_id ORDER BY n.seq) AS earlier
              FROM fresh AS n) AS o
     WHERE o.created_at < o.earlier LIMIT 1;
  END IF;
  IF fault IS NULL THEN
    SELECT 'stream_version is not the highest of its stream plus one' INTO fault
      FROM fresh AS n
     WHERE n.stream_version <> 1 + coalesce((
             SELECT CASE WHEN e.seq < n.seq THEN e.stream_version ELSE -1 END
               FROM remit.events AS e
              WHERE e.ledger_id = n.ledger_id AND e.stream = n.stream
                AND e.stream_version < n.stream_version
              ORDER BY e.stream_version DESC LIMIT 1), 0)
     LIMIT 1;
  END IF;
  IF fault IS NOT NULL THEN
    RAISE EXCEPTION 'events: %', fault USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER events_continue AFTER INSERT ON remit.events
  REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION remit.events_continue();
CREATE TRIGGER events_never_change BEFORE UPDATE ON remit.events
  FOR EACH STATEMENT EXECUTE FUNCTION remit.refused('an event is never changed');
CREATE TRIGGER events_never_go BEFORE DELETE OR TRUNCATE ON remit.events
  FOR EACH STATEMENT EXECUTE FUNCTION remit.refused('an event is never deleted');

-- Long or foreign text. Erasing one sets salt and data to null and leaves its digest; the old bytes
-- go with the next vacuum, which therefore comes after every single erasure.
CREATE TABLE remit.blobs (
  ledger_id text COLLATE "C" NOT NULL,
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  salt bytea,
  data bytea,
  PRIMARY KEY (ledger_id, digest),
  CHECK ((salt IS NULL) = (data IS NULL))
) WITH (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0,
        toast.autovacuum_vacuum_threshold = 0, toast.autovacuum_vacuum_scale_factor = 0);

CREATE FUNCTION remit.blobs_are_only_erased() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.ledger_id <> OLD.ledger_id OR NEW.digest <> OLD.digest
     OR NEW.salt IS NOT NULL OR NEW.data IS NOT NULL THEN
    RAISE EXCEPTION 'blobs: a blob can only be erased' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER blobs_are_only_erased BEFORE UPDATE ON remit.blobs
  FOR EACH ROW EXECUTE FUNCTION remit.blobs_are_only_erased();
CREATE TRIGGER blobs_leave_their_digest BEFORE DELETE OR TRUNCATE ON remit.blobs
  FOR EACH STATEMENT EXECUTE FUNCTION remit.refused('erasing leaves the digest');

-- Not even a session that plays a replica passes these.
ALTER TABLE remit.store_state ENABLE ALWAYS TRIGGER store_state_goes_forward;
ALTER TABLE remit.store_state ENABLE ALWAYS TRIGGER store_state_stays;
ALTER TABLE remit.events ENABLE ALWAYS TRIGGER events_continue;
ALTER TABLE remit.events ENABLE ALWAYS TRIGGER events_never_change;
ALTER TABLE remit.events ENABLE ALWAYS TRIGGER events_never_go;
ALTER TABLE remit.blobs ENABLE ALWAYS TRIGGER blobs_are_only_erased;
ALTER TABLE remit.blobs ENABLE ALWAYS TRIGGER blobs_leave_their_digest;

-- Work items. `state` is the whole fact; the columns beside it are what queries select and order by.
-- Room is left on each page, so that a change which moves no indexed column stays on it (HOT).
CREATE TABLE remit.item_rows (
  ledger_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL CHECK (number >= 1),
  status text COLLATE "C" NOT NULL CHECK (status IN ('draft', 'held', 'ready', 'leased',
    'in-review', 'approved', 'shipped', 'verified', 'triaged', 'closed')),
  lane text COLLATE "C" NOT NULL,
  rank bigint NOT NULL,
  gate text COLLATE "C" NOT NULL,
  hold_reason text COLLATE "C",
  lease_fence bigint CHECK (lease_fence > 0),
  lease_expires_at bigint CHECK (lease_expires_at > 0),
  lease_actor text COLLATE "C" CHECK (lease_actor <> ''),
  text_digest bytea CHECK (octet_length(text_digest) = 32),
  unmet bigint NOT NULL CHECK (unmet >= 0),
  version bigint NOT NULL CHECK (version >= 1),
  state bytea NOT NULL,
  hold_trigger text COLLATE "C" CHECK (hold_trigger <> ''),
  hold_at bigint CHECK (hold_at > 0),
  hold_rank bigint,
  follows text COLLATE "C" CHECK (follows <> ''),
  PRIMARY KEY (ledger_id, id),
  CHECK ((status = 'leased') = (lease_fence IS NOT NULL)),
  CHECK ((lease_fence IS NULL) = (lease_expires_at IS NULL)),
  CHECK ((lease_fence IS NULL) = (lease_actor IS NULL)),
  CHECK (status <> 'ready' OR unmet = 0),
  CHECK (status <> 'held' OR coalesce(hold_reason, '') <> '')
) WITH (fillfactor = 75, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE UNIQUE INDEX item_rows_by_number ON remit.item_rows (ledger_id, number);
CREATE INDEX item_rows_by_status ON remit.item_rows (ledger_id, status, number);
CREATE INDEX item_rows_ready ON remit.item_rows (ledger_id, lane, rank, number)
  WHERE status = 'ready';
CREATE INDEX item_rows_due ON remit.item_rows (ledger_id, lease_expires_at, id)
  WHERE lease_expires_at IS NOT NULL;
CREATE UNIQUE INDEX item_rows_by_fence ON remit.item_rows (ledger_id, lease_fence)
  WHERE lease_fence IS NOT NULL;
CREATE INDEX item_rows_gated ON remit.item_rows (ledger_id, gate, number) WHERE status = 'draft';
CREATE INDEX item_rows_held ON remit.item_rows (ledger_id, hold_reason, number)
  WHERE status = 'held';
CREATE INDEX item_rows_waiting ON remit.item_rows (ledger_id, hold_trigger, hold_rank, number)
  WHERE hold_trigger IS NOT NULL;
CREATE INDEX item_rows_waking ON remit.item_rows (ledger_id, hold_at, number)
  WHERE hold_at IS NOT NULL;
CREATE INDEX item_rows_following ON remit.item_rows (ledger_id, follows, number)
  WHERE follows IS NOT NULL;

-- Dependency edges of items that are not finished, by the item that each is judged by.
CREATE TABLE remit.edge_rows (
  ledger_id text COLLATE "C" NOT NULL,
  via text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('blocks', 'parent-child', 'conditional-blocks',
    'waits-for', 'waits-for-child')),
  state text COLLATE "C" NOT NULL CHECK (state IN ('unmet', 'met', 'dead')),
  dependent text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_id, via, kind, state, dependent, target)
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX edge_rows_by_dependent ON remit.edge_rows (ledger_id, dependent, state, via);

-- Children of a parent, finished ones too.
CREATE TABLE remit.child_rows (
  ledger_id text COLLATE "C" NOT NULL,
  parent text COLLATE "C" NOT NULL,
  child text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_id, parent, child)
);

-- Links of traceability by their upper end: the items of a goal, the nodes and items of a requirement,
-- the items of a node, and those of a shipped commit (`commit/SHA`).
CREATE TABLE remit.link_rows (
  ledger_id text COLLATE "C" NOT NULL,
  upper text COLLATE "C" NOT NULL CHECK (upper <> ''),
  lower text COLLATE "C" NOT NULL CHECK (lower <> ''),
  PRIMARY KEY (ledger_id, upper, lower)
);

CREATE TABLE remit.alias_rows (
  ledger_id text COLLATE "C" NOT NULL,
  alias text COLLATE "C" NOT NULL CHECK (alias <> ''),
  item text COLLATE "C" NOT NULL CHECK (item <> ''),
  PRIMARY KEY (ledger_id, alias)
);

-- Ledgers whose rows were written by an older version: made anew by whoever opens them next.
CREATE TABLE remit.rows_due (
  ledger_id text COLLATE "C" NOT NULL PRIMARY KEY
);

CREATE TABLE remit.triage_rows (
  ledger_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL CHECK (id <> ''),
  item text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind <> ''),
  open bigint NOT NULL CHECK (open IN (0, 1)),
  opened_seq bigint NOT NULL CHECK (opened_seq >= 1),
  body bytea NOT NULL,
  PRIMARY KEY (ledger_id, id)
);

CREATE INDEX triage_rows_in_order ON remit.triage_rows (ledger_id, opened_seq, id);
CREATE INDEX triage_rows_open ON remit.triage_rows (ledger_id, opened_seq, id) WHERE open = 1;

CREATE TABLE remit.lane_rows (
  ledger_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL CHECK (id <> ''),
  passed bigint NOT NULL CHECK (passed >= 0),
  ready bigint NOT NULL CHECK (ready >= 0),
  body bytea NOT NULL,
  PRIMARY KEY (ledger_id, id)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX lane_rows_in_turn ON remit.lane_rows (ledger_id, passed, id) WHERE ready > 0;

-- Every other kind of fact, the counters among them, which nearly every commit changes.
CREATE TABLE remit.fact_rows (
  ledger_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind NOT IN ('', 'item', 'alias', 'triage', 'lane')),
  id text COLLATE "C" NOT NULL CHECK (id <> ''),
  version bigint NOT NULL CHECK (version >= 0),
  body bytea NOT NULL,
  PRIMARY KEY (ledger_id, kind, id)
) WITH (fillfactor = 85, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_vacuum_cost_delay = 0);

-- Views for people who audit with SQL: the names and columns that the SQLite store has.
CREATE VIEW remit.items AS
SELECT r.ledger_id, r.id, r.number,
       r.fact ->> 'kind' AS kind,
       r.status,
       coalesce(nullif(r.fact ->> 'title', ''), (
         SELECT split_part(convert_from(b.data, 'UTF8'), E'\n', 1) FROM remit.blobs AS b
          WHERE b.ledger_id = r.ledger_id AND b.digest = r.text_digest)) AS title,
       (r.fact ->> 'priority')::bigint AS priority,
       r.fact ->> 'work_class' AS work_class,
       r.fact ->> 'tenant' AS tenant,
       r.fact ->> 'alias' AS alias,
       r.gate, r.hold_reason, r.lease_actor, r.lease_expires_at, r.unmet,
       (r.fact ->> 'attempt')::bigint AS attempt,
       r.fact ->> 'outcome' AS outcome,
       r.fact ->> 'successor' AS successor,
       r.fact -> 'work' ->> 'shipped' AS observed_commit_sha,
       (r.fact ->> 'created_at')::bigint AS created_at,
       (r.fact ->> 'changed_at')::bigint AS changed_at,
       r.version, convert_from(r.state, 'UTF8') AS state
  FROM (SELECT i.*, convert_from(i.state, 'UTF8')::json AS fact FROM remit.item_rows AS i) AS r;

CREATE VIEW remit.leases AS
SELECT r.ledger_id,
       r.lease ->> 'id' AS id,
       r.id AS item,
       (r.lease ->> 'attempt')::bigint AS attempt,
       r.lease_actor AS actor,
       (r.lease ->> 'acquired_at')::bigint AS acquired_at,
       (r.lease ->> 'ttl_ms')::bigint AS ttl_ms,
       r.lease_expires_at AS expires_at,
       r.lease_fence AS fence
  FROM (SELECT i.*, convert_from(i.state, 'UTF8')::json -> 'lease' AS lease
          FROM remit.item_rows AS i WHERE i.status = 'leased') AS r;

CREATE VIEW remit.holds AS
SELECT r.ledger_id, r.id AS item, r.number, r.hold_reason AS reason,
       r.hold ->> 'owner' AS owner,
       r.hold ->> 'identity' AS identity,
       r.hold_trigger AS trigger, r.hold_at AS recheck_at
  FROM (SELECT i.*, convert_from(i.state, 'UTF8')::json -> 'hold' AS hold
          FROM remit.item_rows AS i WHERE i.status = 'held') AS r;

CREATE VIEW remit.triage AS
SELECT ledger_id, id, item, kind, open, opened_seq,
       convert_from(body, 'UTF8')::json ->> 'resolution' AS resolution
  FROM remit.triage_rows;

-- What became of effects. In a later epoch than it was known in, an effect with anything outside is
-- uncertain until it is looked up; `last_known` is what was known before.
CREATE VIEW remit.effects AS
SELECT r.ledger_id, r.id,
       r.fact ->> 'item' AS item,
       r.fact ->> 'operation' AS operation,
       r.fact ->> 'replay_class' AS replay_class,
       nullif(r.fact ->> 'destination', '') AS destination,
       CASE WHEN r.epoch < r.ledger_epoch AND r.fact ->> 'replay_class' <> 'PURE'
            THEN 'UNCERTAIN' ELSE r.fact ->> 'state' END AS state,
       r.fact ->> 'state' AS last_known,
       r.epoch,
       nullif(r.fact ->> 'attempt', '') AS attempt,
       nullif(r.fact ->> 'lease', '') AS lease,
       nullif((r.fact ->> 'fence')::bigint, 0) AS fence,
       (r.fact ->> 'intents')::bigint AS intents,
       r.fact ->> 'key' AS idempotency_key,
       nullif(r.fact ->> 'payload_digest', '') AS payload_digest,
       nullif((r.fact ->> 'intended_at')::bigint, 0) AS intended_at,
       nullif((r.fact ->> 'intended_seq')::bigint, 0) AS intended_seq,
       sent.created_at AS sent_at, sent.seq AS sent_seq,
       nullif(r.fact ->> 'response', '') AS response,
       answered.created_at AS answered_at, answered.seq AS answered_seq,
       (r.fact ->> 'receipt')::boolean::int::bigint AS receipt,
       nullif(r.fact ->> 'result_digest', '') AS result_digest,
       nullif(r.fact ->> 'ended', '') AS lease_ended,
       (r.fact ->> 'terminated_at')::bigint AS worker_ended_at,
       (r.fact ->> 'request_expires_at')::bigint AS request_expires_at,
       (r.fact ->> 'arrives_until')::bigint AS arrives_until,
       (r.fact ->> 'looks')::bigint AS looks,
       nullif(r.fact ->> 'observation', '') AS observation,
       observed.created_at AS observed_at, observed.seq AS observed_seq,
       nullif((r.fact ->> 'present_seq')::bigint, 0) AS present_seq,
       nullif((r.fact ->> 'absent_seq')::bigint, 0) AS absent_seq,
       nullif((r.fact ->> 'look_at')::bigint, 0) AS next_look_at,
       (r.fact ->> 'repeating')::bigint AS repeating,
       nullif(r.fact ->> 'compensates', '') AS compensates,
       r.version
  FROM (SELECT e.ledger_id, e.id, e.version, e.fact, (e.fact ->> 'epoch')::bigint AS epoch,
               (convert_from(l.body, 'UTF8')::json ->> 'epoch')::bigint AS ledger_epoch
          FROM (SELECT ledger_id, id, version, convert_from(body, 'UTF8')::json AS fact
                  FROM remit.fact_rows WHERE kind = 'effect') AS e
          JOIN remit.fact_rows AS l
            ON l.ledger_id = e.ledger_id AND l.kind = 'ledger' AND l.id = 'ledger') AS r
  LEFT JOIN remit.events AS sent
    ON sent.ledger_id = r.ledger_id AND sent.seq = (r.fact ->> 'sent_seq')::bigint
  LEFT JOIN remit.events AS answered
    ON answered.ledger_id = r.ledger_id AND answered.seq = (r.fact ->> 'response_seq')::bigint
  LEFT JOIN remit.events AS observed
    ON observed.ledger_id = r.ledger_id AND observed.seq = (r.fact ->> 'observed_seq')::bigint;

-- Runs of the drain. Times in microseconds, money in micro-units; `bounds` is JSON. `items_live` and
-- `reserved_micros` are of what is not settled yet.
CREATE VIEW remit.runs AS
SELECT r.ledger_id, r.id,
       r.fact ->> 'status' AS status,
       (r.fact ->> 'started_at')::bigint AS started_at,
       nullif((r.fact ->> 'stopped_at')::bigint, 0) AS ended_at,
       r.fact ->> 'bounds' AS bounds,
       nullif(r.fact ->> 'stopped_by', '') AS stopped_by,
       r.fact ->> 'actor' AS actor,
       nullif(r.fact ->> 'reviewer', '') AS reviewer,
       r.fact ->> 'agent' AS agent,
       r.fact ->> 'decision' AS decision,
       r.fact ->> 'started_by' AS started_by,
       (r.fact ->> 'ends_at')::bigint AS ends_at,
       (r.fact ->> 'chosen')::bigint AS items_chosen,
       json_array_length(r.fact -> 'live')::bigint AS items_live,
       (r.fact ->> 'failed')::bigint AS items_failed,
       (SELECT coalesce(sum(greatest((e.value ->> 'reserved_micros')::bigint,
                                     (e.value ->> 'spent_micros')::bigint)), 0)::bigint
          FROM json_array_elements(r.fact -> 'live') AS e) AS reserved_micros,
       (r.fact ->> 'settled_micros')::bigint AS settled_micros,
       (r.fact ->> 'refusals')::bigint AS refusals,
       r.version
  FROM (SELECT ledger_id, id, version, convert_from(body, 'UTF8')::json AS fact
          FROM remit.fact_rows WHERE kind = 'run') AS r;

-- Rights. Nobody but the owner may change an event's row, and the triggers stop the owner too.
GRANT USAGE ON SCHEMA remit TO remit_writer, remit_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA remit TO remit_reader, remit_writer;
GRANT INSERT ON remit.events, remit.blobs, remit.store_state TO remit_writer;
GRANT UPDATE (salt, data) ON remit.blobs TO remit_writer;
GRANT UPDATE (epoch, adoption_required, place, boot_id, boot_us, ledger_us, offset_us)
  ON remit.store_state TO remit_writer;
GRANT DELETE ON remit.rows_due TO remit_writer;
GRANT INSERT, UPDATE, DELETE ON remit.item_rows, remit.edge_rows, remit.child_rows, remit.link_rows,
  remit.alias_rows, remit.triage_rows, remit.lane_rows, remit.fact_rows TO remit_writer;
