-- 0002: what holds wait for, and what followed another work. Queries find held items by trigger and
-- place in line or by time, and coalesced ones by the work that they follow.
ALTER TABLE item_rows ADD COLUMN hold_trigger TEXT CHECK (hold_trigger <> '');
ALTER TABLE item_rows ADD COLUMN hold_at INTEGER CHECK (hold_at > 0);
ALTER TABLE item_rows ADD COLUMN hold_rank INTEGER;
ALTER TABLE item_rows ADD COLUMN follows TEXT CHECK (follows <> '');

-- Rows that are there, as today's facts are encoded: their holds had neither time nor place.
UPDATE item_rows
   SET hold_trigger = cast(state AS TEXT) ->> '$.hold.trigger', hold_rank = 0,
       state = cast(replace(cast(state AS TEXT),
                 '"hold":{"owner":' || (cast(state AS TEXT) -> '$.hold.owner') || ',"reason":',
                 '"hold":{"at":0,"identity":"","owner":' || (cast(state AS TEXT) -> '$.hold.owner')
                 || ',"rank":0,"reason":') AS BLOB)
 WHERE status = 'held';

UPDATE fact_rows
   SET body = cast(replace(cast(body AS TEXT), '"unsettled":', '"rechecks":[],"unsettled":') AS BLOB)
 WHERE kind = 'ledger';

CREATE INDEX item_rows_waiting ON item_rows (ledger_id, hold_trigger, hold_rank, number, id)
  WHERE hold_trigger IS NOT NULL;
CREATE INDEX item_rows_waking ON item_rows (ledger_id, hold_at, number, id)
  WHERE hold_at IS NOT NULL;
CREATE INDEX item_rows_following ON item_rows (ledger_id, follows, number, id)
  WHERE follows IS NOT NULL;

DROP VIEW holds;
CREATE VIEW holds AS
SELECT ledger_id, id AS item, number,
       hold_reason AS reason,
       cast(state AS TEXT) ->> '$.hold.owner' AS owner,
       cast(state AS TEXT) ->> '$.hold.identity' AS identity,
       hold_trigger AS trigger, hold_at AS recheck_at
  FROM item_rows
 WHERE status = 'held';
