-- 0005: when the lifetime of an item ends. Ready work that has come to it is found by time, like holds.
-- An item's own lease is null or an object; what else is called so is a text.
UPDATE remit.item_rows AS i
   SET state = convert_to(replace(replace(convert_from(i.state, 'UTF8'),
                 ',"lease":null', ',"lapses_at":' || ends.at || ',"lease":null'),
                 ',"lease":{', ',"lapses_at":' || ends.at || ',"lease":{'), 'UTF8'),
       hold_at = CASE WHEN i.status IN ('ready', 'leased') THEN nullif(ends.at, 0) ELSE i.hold_at END
  FROM (SELECT r.ledger_id, r.id,
               greatest(0, coalesce((f.envelope ->> 'deadline')::bigint, 0) - 1000 *
                        greatest(0, coalesce((f.envelope ->> 'minimum_completion_margin_ms')::bigint, 0)))
                 AS at
          FROM remit.item_rows AS r
          LEFT JOIN (SELECT ledger_id, id, convert_from(body, 'UTF8')::json -> 'envelope' AS envelope
                       FROM remit.fact_rows WHERE kind = 'intent') AS f
            ON f.ledger_id = r.ledger_id AND f.id = r.id) AS ends
 WHERE ends.ledger_id = i.ledger_id AND ends.id = i.id;
