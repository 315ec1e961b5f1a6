-- 0006: runs of the drain, which the view of that name shows; nothing made any before.
DROP VIEW runs;

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
