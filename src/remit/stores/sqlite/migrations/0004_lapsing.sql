-- 0004: when the lifetime of an item ends. Ready work that has come to it is found by time, like holds.
-- An item's own lease is null or an object; what else is called so is a text.
UPDATE item_rows
   SET state = cast(replace(replace(cast(state AS TEXT),
                 ',"lease":null', ',"lapses_at":' || ends.at || ',"lease":null'),
                 ',"lease":{', ',"lapses_at":' || ends.at || ',"lease":{') AS BLOB),
       hold_at = CASE WHEN status IN ('ready', 'leased') THEN nullif(ends.at, 0) ELSE hold_at END
  FROM (SELECT i.ledger_id, i.id,
               max(0, coalesce(f.fact ->> '$.envelope.deadline', 0) - 1000 *
                   max(0, coalesce(f.fact ->> '$.envelope.minimum_completion_margin_ms', 0))) AS at
          FROM item_rows AS i
          LEFT JOIN (SELECT ledger_id, id, cast(body AS TEXT) AS fact
                       FROM fact_rows WHERE kind = 'intent') AS f
            ON f.ledger_id = i.ledger_id AND f.id = i.id) AS ends
 WHERE ends.ledger_id = item_rows.ledger_id AND ends.id = item_rows.id;
