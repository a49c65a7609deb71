-- A key stands for all the jobs of its request, which have numbers without a gap, and is kept for a time after the last of them has
-- ended. The end of a job does not write here: `open_at` is when one of them was last known to be unfinished, and a sweep looks
-- again once that is long ago.
CREATE TABLE keys_of_requests (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  request_sha256 TEXT NOT NULL,
  first_job INTEGER NOT NULL,
  last_job INTEGER NOT NULL,
  open_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- Until now each job of a batch had a row, the first under the key itself and the others behind a line break and their index.
INSERT INTO keys_of_requests (tenant, name, request_sha256, first_job, last_job, open_at)
SELECT i.tenant, i.name, i.request_sha256, i.job, max(o.job),
  max(coalesce(o.ended_at, CAST(unixepoch('subsec') * 1000 AS INTEGER)))
FROM idempotency i JOIN idempotency o ON o.tenant = i.tenant AND o.request_sha256 = i.request_sha256
  AND (o.name = i.name OR o.name GLOB replace(replace(rtrim(i.name, '"'), '[', '[[]'), '*', '[*]') || '\n[0-9]*"')
WHERE i.name NOT GLOB '*\n[0-9]*"'
GROUP BY i.tenant, i.name;

DROP TABLE idempotency;
ALTER TABLE keys_of_requests RENAME TO idempotency;
CREATE INDEX idempotency_by_time ON idempotency (open_at);
ALTER TABLE jobs DROP COLUMN keyed;
