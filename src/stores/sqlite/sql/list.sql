-- name: position
SELECT number FROM jobs WHERE id <= :id ORDER BY id DESC LIMIT 1;

-- name: status
SELECT j.id, j.lane, j.number, j.status, j.attempt, j.artifact, j.updated_at, j.event_count,
  l.since, d.error
FROM jobs j LEFT JOIN leases l ON l.job = j.number LEFT JOIN decisions d ON d.job = j.number
WHERE j.number = :number;

-- name: lanes
SELECT lane FROM lanes WHERE tenant = :tenant AND (:workflow IS NULL OR workflow = :workflow);

-- name: inLane
SELECT number FROM jobs
WHERE lane = :lane AND number < :before AND (NOT :completed OR status = 'completed')
ORDER BY number DESC LIMIT :limit;

-- name: queued
SELECT job AS number FROM (SELECT job, lane FROM ready UNION ALL SELECT job, lane FROM scheduled)
WHERE job < :before
  AND lane IN (SELECT lane FROM lanes WHERE tenant = :tenant AND (:workflow IS NULL OR workflow = :workflow))
ORDER BY job DESC LIMIT :limit;

-- name: runningOrDead
-- Each part is read in the order of its key, so it ends with the page. `labels` is a JSON list of pairs.
SELECT job AS number FROM (
  SELECT l.job, j.lane FROM leases l CROSS JOIN jobs j ON j.number = l.job WHERE :status = 'running'
  UNION ALL
  SELECT d.job, j.lane FROM decisions d CROSS JOIN jobs j ON j.number = d.job
  WHERE :status = 'dead_letter' AND :code IS NULL
  UNION ALL
  SELECT d.job, j.lane FROM decisions d CROSS JOIN jobs j ON j.number = d.job
  WHERE d.tenant = :tenant AND d.code = :code
) AS found
WHERE job < :before
  AND lane IN (SELECT lane FROM lanes WHERE tenant = :tenant AND (:workflow IS NULL OR workflow = :workflow))
  AND (:labels = '[]' OR NOT EXISTS (
    SELECT 1 FROM json_each(:labels) AS wanted WHERE NOT EXISTS (
      SELECT 1 FROM labels
      WHERE tenant = :tenant AND name = wanted.value ->> 0 AND value = wanted.value ->> 1 AND job = found.job
    )
  ))
ORDER BY job DESC LIMIT :limit;

-- name: withLabel
SELECT first.job AS number FROM labels first CROSS JOIN jobs j ON j.number = first.job
WHERE first.tenant = :tenant AND first.name = :labels ->> '$[0][0]' AND first.value = :labels ->> '$[0][1]'
  AND first.job < :before AND (:status IS NULL OR j.status = :status)
  AND (:status IS NULL OR NOT EXISTS (SELECT 1 FROM leases WHERE leases.job = first.job))
  AND j.lane IN (SELECT lane FROM lanes WHERE tenant = :tenant AND (:workflow IS NULL OR workflow = :workflow))
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:labels) AS wanted WHERE wanted.key > 0 AND NOT EXISTS (
      SELECT 1 FROM labels
      WHERE tenant = :tenant AND name = wanted.value ->> 0 AND value = wanted.value ->> 1 AND job = first.job
    )
  )
ORDER BY first.job DESC LIMIT :limit;
