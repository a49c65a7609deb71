-- name: old
SELECT DISTINCT j.id, j.lane FROM (
  SELECT c.job FROM model_calls c CROSS JOIN jobs j ON j.number = c.job
  WHERE c.kept = 1 AND c.response IS NOT NULL AND c.started_at < :before AND (
    c.response ->> '$.erasedAt' IS NOT NULL
    OR j.status IN ('completed', 'dead_letter') AND j.finished_at < :before
  )
  ORDER BY c.started_at LIMIT :limit
) c CROSS JOIN jobs j ON j.number = c.job;

-- name: ended
SELECT number FROM jobs WHERE id = :id AND status IN ('completed', 'dead_letter') AND finished_at < :before;

-- name: mark
UPDATE model_calls SET response = json_set(response, '$.erasedAt', :now)
WHERE job = :job AND response IS NOT NULL AND response ->> '$.erasedAt' IS NULL;

-- name: drop
DELETE FROM blobs WHERE uri = :uri;

-- name: gone
UPDATE model_calls SET kept = 0
WHERE job = (SELECT number FROM jobs WHERE id = :id) AND response ->> '$.erasedAt' IS NOT NULL;
