-- 0005: links of traceability by their upper end, so that a trace from a requirement, a node or a
-- commit looks at what hangs on it and at nothing else.
CREATE TABLE link_rows (
  ledger_id TEXT NOT NULL,
  upper TEXT NOT NULL CHECK (upper <> ''),
  lower TEXT NOT NULL CHECK (lower <> ''),
  PRIMARY KEY (ledger_id, upper, lower)
) STRICT, WITHOUT ROWID;

-- What is there already: goals, and work that shipped. Ledgers before this one hold no plans.
INSERT INTO link_rows (ledger_id, upper, lower)
SELECT ledger_id, 'commit/' || (cast(state AS TEXT) ->> '$.work.shipped'), id
  FROM item_rows
 WHERE coalesce(cast(state AS TEXT) ->> '$.work.shipped', '') <> '';

INSERT INTO link_rows (ledger_id, upper, lower)
SELECT ledger_id, cast(state AS TEXT) ->> '$.plan.goal', id
  FROM item_rows
 WHERE coalesce(cast(state AS TEXT) ->> '$.plan.goal', '') <> '';
