-- name: old
WITH moment AS MATERIALIZED (
  SELECT claimcheck.now_ms() - :older_than_ms::bigint AS before
)
SELECT DISTINCT j.id, n.tenant FROM (
  SELECT c.job FROM moment m CROSS JOIN claimcheck.model_calls c JOIN claimcheck.jobs j ON j.number = c.job
  WHERE c.kept AND c.response IS NOT NULL AND c.started_at < m.before AND (
    c.response LIKE '%"erasedAt"%' OR j.status IN ('completed', 'dead_letter') AND j.finished_at < m.before
  )
  ORDER BY c.started_at, c.job, c.n LIMIT :limit::bigint
) c JOIN claimcheck.jobs j ON j.number = c.job JOIN claimcheck.lanes n ON n.lane = j.lane;

-- name: erase
-- The job's row is held, so that a replay comes before all of it or after.
WITH ended AS MATERIALIZED (
  SELECT number FROM claimcheck.jobs
  WHERE id = :id AND status IN ('completed', 'dead_letter') AND finished_at < claimcheck.now_ms() - :older_than_ms::bigint
  FOR UPDATE
), marked AS (
  UPDATE claimcheck.model_calls c
  SET response = (c.response::jsonb || jsonb_build_object('erasedAt', claimcheck.now_ms()))::text
  WHERE c.job = ANY (ARRAY(SELECT number FROM ended)) AND c.response IS NOT NULL AND c.response NOT LIKE '%"erasedAt"%'
)
DELETE FROM claimcheck.blobs
WHERE uri = ANY (string_to_array(:uris, chr(10))) AND EXISTS (SELECT FROM ended);

-- name: gone
UPDATE claimcheck.model_calls SET kept = false
WHERE job = ANY (ARRAY(SELECT number FROM claimcheck.jobs WHERE id = :id)) AND response LIKE '%"erasedAt"%';
