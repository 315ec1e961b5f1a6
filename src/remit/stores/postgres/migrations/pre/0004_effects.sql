-- 0004: what auditors see of effects, which were not there when the view was made.
DROP VIEW remit.effects;
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
GRANT SELECT ON remit.effects TO remit_reader, remit_writer;
