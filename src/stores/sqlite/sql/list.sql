-- name: position
SELECT number FROM jobs WHERE id <= :id ORDER BY id DESC LIMIT 1;

-- name: status
SELECT j.id, j.lane, j.number, j.status, j.attempt, j.artifact, j.updated_at, j.event_count,
  l.since, d.error, d.code
FROM jobs j LEFT JOIN leases l ON l.job = j.number LEFT JOIN decisions d ON d.job = j.number
WHERE j.number = :number;

-- name: hasLabel
SELECT 1 AS found FROM labels WHERE tenant = :tenant AND name = :name AND value = :value AND job = :job;

-- name: lanes
SELECT lane FROM lanes WHERE tenant = :tenant AND (:workflow IS NULL OR workflow = :workflow);

-- name: inLane
SELECT number FROM jobs
WHERE lane = :lane AND number < :before AND (NOT :ended OR status = 'completed')
ORDER BY number DESC LIMIT :limit;

-- name: withLabel
SELECT job AS number FROM labels
WHERE tenant = :tenant AND name = :name AND value = :value AND job < :before
ORDER BY job DESC LIMIT :limit;

-- name: dead
SELECT job AS number FROM decisions WHERE job < :before ORDER BY job DESC LIMIT :limit;

-- name: deadWithCode
SELECT job AS number FROM decisions
WHERE tenant = :tenant AND code = :code AND job < :before
ORDER BY job DESC LIMIT :limit;

-- name: running
SELECT job AS number FROM leases WHERE job < :before ORDER BY job DESC LIMIT :limit;

-- name: queued
SELECT job AS number FROM (
  SELECT job FROM ready WHERE job < :before UNION ALL SELECT job FROM scheduled WHERE job < :before
)
ORDER BY job DESC LIMIT :limit;
