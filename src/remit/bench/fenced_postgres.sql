-- The hand-written queue on PostgreSQL: the same table and the same fence as in fenced.sql. Workers skip
-- what another one is claiming, as every queue on PostgreSQL does.
--
-- name: schema
CREATE TABLE jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payload text NOT NULL,
  state smallint NOT NULL DEFAULT 0,      -- 0 waiting, 1 claimed, 2 done
  fence bigint NOT NULL DEFAULT 0,
  owner text,
  expires_at bigint                       -- microseconds
) WITH (fillfactor = 75)

-- name: index
CREATE INDEX jobs_waiting ON jobs (id) WHERE state = 0

-- name: insert
INSERT INTO jobs (payload) SELECT * FROM unnest(%s::text[])

-- Claim the next jobs; each gets the next fence of its own.
-- name: claim
UPDATE jobs SET state = 1, fence = fence + 1, owner = %s, expires_at = %s
WHERE id IN (SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
RETURNING id, fence

-- Hand in under the fence that was given; meets no row where the claim is not current.
-- name: finish
UPDATE jobs AS j SET state = 2 FROM unnest(%s::bigint[], %s::bigint[]) AS c(id, fence)
WHERE j.id = c.id AND j.fence = c.fence AND j.state = 1 AND j.expires_at > %s

-- name: holds
SELECT count(*), count(*) FILTER (WHERE state <> 2) FROM jobs

-- name: durability
SELECT current_setting('server_version'), current_setting('fsync'),
       current_setting('synchronous_commit'), current_setting('full_page_writes')

-- One for each contestant.
-- name: database
CREATE DATABASE {name}

-- name: procrastinate_holds
SELECT count(*) AS made, count(*) FILTER (WHERE status <> 'succeeded') AS left_over
  FROM procrastinate_jobs
