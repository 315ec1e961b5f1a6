-- 0003: what auditors see of effects, which were not there when the view was made.
DROP VIEW effects;
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
