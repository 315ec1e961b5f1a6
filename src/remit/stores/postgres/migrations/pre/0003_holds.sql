-- 0003: what holds wait for, and what followed another work. Queries find held items by trigger and
-- place in line or by time, and coalesced ones by the work that they follow. The last release runs on
-- the result: the columns have no value where it wrote a row, and it never looks for them.
ALTER TABLE remit.item_rows ADD COLUMN hold_trigger text COLLATE "C" CHECK (hold_trigger <> '');
ALTER TABLE remit.item_rows ADD COLUMN hold_at bigint CHECK (hold_at > 0);
ALTER TABLE remit.item_rows ADD COLUMN hold_rank bigint;
ALTER TABLE remit.item_rows ADD COLUMN follows text COLLATE "C" CHECK (follows <> '');

-- Rows that are there, as today's facts are encoded: their holds had neither time nor place.
UPDATE remit.item_rows AS i
   SET hold_trigger = h.hold ->> 'trigger', hold_rank = 0,
       state = convert_to(replace(h.state,
                 '"hold":{"owner":' || (h.hold -> 'owner')::text || ',"reason":',
                 '"hold":{"at":0,"identity":"","owner":' || (h.hold -> 'owner')::text
                 || ',"rank":0,"reason":'), 'UTF8')
  FROM (SELECT ledger_id, id, convert_from(state, 'UTF8') AS state,
               convert_from(state, 'UTF8')::json -> 'hold' AS hold
          FROM remit.item_rows WHERE status = 'held') AS h
 WHERE i.ledger_id = h.ledger_id AND i.id = h.id;

UPDATE remit.fact_rows
   SET body = convert_to(replace(convert_from(body, 'UTF8'), '"unsettled":',
                                 '"rechecks":[],"unsettled":'), 'UTF8')
 WHERE kind = 'ledger';

CREATE INDEX item_rows_waiting ON remit.item_rows (ledger_id, hold_trigger, hold_rank, number)
  WHERE hold_trigger IS NOT NULL;
CREATE INDEX item_rows_waking ON remit.item_rows (ledger_id, hold_at, number)
  WHERE hold_at IS NOT NULL;
CREATE INDEX item_rows_following ON remit.item_rows (ledger_id, follows, number)
  WHERE follows IS NOT NULL;

DROP VIEW remit.holds;
CREATE VIEW remit.holds AS
SELECT r.ledger_id, r.id AS item, r.number, r.hold_reason AS reason,
       r.hold ->> 'owner' AS owner,
       r.hold ->> 'identity' AS identity,
       r.hold_trigger AS trigger, r.hold_at AS recheck_at
  FROM (SELECT i.*, convert_from(i.state, 'UTF8')::json -> 'hold' AS hold
          FROM remit.item_rows AS i WHERE i.status = 'held') AS r;
GRANT SELECT ON remit.holds TO remit_reader, remit_writer;
