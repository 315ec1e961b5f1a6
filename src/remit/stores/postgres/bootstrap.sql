-- What a database needs before the first migration: three roles and the schema that holds everything.
-- Roles belong to the whole cluster, so they may be there already. Nobody logs in as one of them:
-- logins are made members, as docs/operating/postgresql.md tells.
--
--   remit_owner   owns the schema and runs migrations; no ledger is ever written in its name
--   remit_writer  appends events and writes rows; has no right to change or remove an event
--   remit_reader  reads, for operators and audits; every read of a ledger is made in its name
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['remit_owner', 'remit_writer', 'remit_reader'] LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
      EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', wanted);
    END IF;
    IF NOT pg_catalog.pg_has_role(current_user, wanted, 'USAGE') THEN
      EXECUTE pg_catalog.format('GRANT %I TO CURRENT_USER', wanted);
    END IF;
  END LOOP;
  IF NOT EXISTS (
      SELECT 1 FROM pg_catalog.pg_auth_members
       WHERE roleid = 'remit_reader'::regrole AND member = 'remit_writer'::regrole) THEN
    GRANT remit_reader TO remit_writer;
  END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS remit AUTHORIZATION remit_owner;
