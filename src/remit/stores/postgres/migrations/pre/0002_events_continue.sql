-- The same refusals as before with one look-up an event: no sorting, and no window where all events of a
-- statement have one time, as those of a transaction do.
--
-- Looks at a whole statement's events at once, after they are in: for each ledger what is in front of
-- them and that nothing lies behind, for each event the one before it in its stream. That is enough for
-- streams without gaps: with a unique version, and each version's predecessor there and older, the
-- highest is the only one that can be followed. Every look-up asks for the last one in an index's
-- order, and the settings make any other way dear: a plan that was cached while the table was empty
-- must still do when it is not. Two writers that go past the advisory lock meet at the primary key, and
-- the second one is refused.
CREATE OR REPLACE FUNCTION remit.events_continue() RETURNS trigger
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
