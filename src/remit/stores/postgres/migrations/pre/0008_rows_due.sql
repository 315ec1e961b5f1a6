-- 0008: ledgers whose rows were written by an older version, and are made anew by whoever opens them next
-- and may write (stores/upgrading.py). Facts had got fields without a step of their own, so that rows of
-- older ledgers were named by ``ledger verify``, and a compare-and-set on them failed. A later step that
-- comes with new fields of facts enters all ledgers here again.
CREATE TABLE remit.rows_due (
  ledger_id text COLLATE "C" NOT NULL PRIMARY KEY
);

INSERT INTO remit.rows_due (ledger_id) SELECT ledger_id FROM remit.store_state;

GRANT SELECT ON remit.rows_due TO remit_reader, remit_writer;
GRANT DELETE ON remit.rows_due TO remit_writer;
