-- A key stands for all the jobs of its request, and is kept for a time after the last of them has ended. The end of a job does
-- not write here: `open_at` is when one of them was last known to be unfinished, and a sweep looks again once that is long ago.
ALTER TABLE claimcheck.idempotency ADD COLUMN jobs bigint[], ADD COLUMN open_at bigint;

-- Until now each job of a batch had a row, the first under the key itself and the others behind a line break and their index.
UPDATE claimcheck.idempotency i SET jobs = b.jobs, open_at = b.open_at
FROM (
  SELECT tenant, request_sha256, regexp_replace(name, '\\n[0-9]+"$', '"') AS name,
    array_agg(job ORDER BY job) AS jobs, max(coalesce(ended_at, claimcheck.now_ms())) AS open_at
  FROM claimcheck.idempotency GROUP BY 1, 2, 3
) b
WHERE i.tenant = b.tenant AND i.name = b.name AND i.request_sha256 = b.request_sha256;
DELETE FROM claimcheck.idempotency WHERE jobs IS NULL;

ALTER TABLE claimcheck.idempotency
  DROP COLUMN job, DROP COLUMN job_id, DROP COLUMN ended_at,
  ALTER COLUMN jobs SET NOT NULL, ALTER COLUMN open_at SET NOT NULL,
  RESET (fillfactor);
CREATE INDEX idempotency_by_time ON claimcheck.idempotency (open_at);
ALTER TABLE claimcheck.jobs DROP COLUMN keyed;
