-- 0007: runs of the drain, which the view of that name shows; nothing made any before.
DROP VIEW remit.runs;

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

GRANT SELECT ON remit.runs TO remit_reader, remit_writer;
