-- The hand-written queue that ratios refer to: one table, one row a job, a fence that each claim
-- raises, and compare-and-set wherever a claim is used. It is as small as an honest one can be: a
-- claim that was taken over, or that has run out, changes nothing.
--
-- name: schema
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  payload TEXT NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,       -- 0 waiting, 1 claimed, 2 done
  fence INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  expires_at INTEGER                      -- microseconds
)

-- name: index
CREATE INDEX jobs_waiting ON jobs (id) WHERE state = 0

-- name: insert
INSERT INTO jobs (payload) VALUES (?)

-- Claim the next jobs; each gets the next fence of its own.
-- name: claim
UPDATE jobs SET state = 1, fence = fence + 1, owner = ?, expires_at = ?
WHERE id IN (SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT ?)
RETURNING id, fence

-- Hand in under the fence that was given; meets no row where the claim is not current.
-- name: finish
UPDATE jobs SET state = 2 WHERE id = ? AND fence = ? AND state = 1 AND expires_at > ?

-- name: holds
SELECT count(*), count(*) FILTER (WHERE state <> 2) FROM jobs
