-- 0006: links of traceability by their upper end, so that a trace from a requirement, a node or a
-- commit looks at what hangs on it and at nothing else. The last release never looks at them.
CREATE TABLE remit.link_rows (
  ledger_id text COLLATE "C" NOT NULL,
  upper text COLLATE "C" NOT NULL CHECK (upper <> ''),
  lower text COLLATE "C" NOT NULL CHECK (lower <> ''),
  PRIMARY KEY (ledger_id, upper, lower)
);

-- What is there already: goals, and work that shipped. Ledgers before this one hold no plans.
INSERT INTO remit.link_rows (ledger_id, upper, lower)
SELECT r.ledger_id, 'commit/' || r.shipped, r.id
  FROM (SELECT ledger_id, id, convert_from(state, 'UTF8')::json -> 'work' ->> 'shipped' AS shipped
          FROM remit.item_rows) AS r
 WHERE coalesce(r.shipped, '') <> '';

INSERT INTO remit.link_rows (ledger_id, upper, lower)
SELECT r.ledger_id, r.goal, r.id
  FROM (SELECT ledger_id, id, convert_from(state, 'UTF8')::json -> 'plan' ->> 'goal' AS goal
          FROM remit.item_rows) AS r
 WHERE coalesce(r.goal, '') <> '';

GRANT SELECT ON remit.link_rows TO remit_reader, remit_writer;
GRANT INSERT, UPDATE, DELETE ON remit.link_rows TO remit_writer;
