-- name: position
-- The number that a page goes on below; for an id that is no more, that of the next older one and itself.
SELECT CASE WHEN id = :id THEN number ELSE number + 1 END AS number
FROM claimcheck.jobs WHERE id <= :id ORDER BY id DESC LIMIT 1;

-- name: inLane
SELECT f.number FROM claimcheck.lanes l CROSS JOIN LATERAL (
  SELECT j.number FROM claimcheck.jobs j WHERE j.lane = l.lane AND j.number < :before::bigint
  ORDER BY j.number DESC LIMIT :limit::bigint
) f
WHERE l.tenant = :tenant AND (:workflow::text IS NULL OR l.workflow = :workflow)
ORDER BY f.number DESC LIMIT :limit::bigint;

-- name: withLabel
SELECT job AS number FROM claimcheck.labels
WHERE tenant = :tenant AND name = :name AND value = :value AND job < :before::bigint
ORDER BY job DESC LIMIT :limit::bigint;

-- name: dead
SELECT job AS number FROM claimcheck.decisions
WHERE tenant = :tenant AND job < :before::bigint
ORDER BY job DESC LIMIT :limit::bigint;

-- name: deadWithCode
SELECT job AS number FROM claimcheck.decisions
WHERE tenant = :tenant AND code = :code AND job < :before::bigint
ORDER BY job DESC LIMIT :limit::bigint;

-- name: running
SELECT job AS number FROM claimcheck.leases WHERE job < :before::bigint ORDER BY job DESC LIMIT :limit::bigint;

-- name: queued
SELECT job AS number FROM (
  SELECT job, lane FROM claimcheck.ready WHERE job < :before::bigint
  UNION ALL SELECT job, lane FROM claimcheck.scheduled WHERE job < :before::bigint
) q
WHERE lane IN (SELECT lane FROM claimcheck.lanes WHERE tenant = :tenant)
ORDER BY job DESC LIMIT :limit::bigint;

-- name: status
SELECT j.id, j.lane, j.number, j.status, j.attempt, j.artifact, j.updated_at, j.event_count, j.labels, l.since, d.error, d.code,
  n.tenant, n.workflow, n.version, n.output_schema_sha256
FROM claimcheck.jobs j
  JOIN claimcheck.lanes n ON n.lane = j.lane
  LEFT JOIN claimcheck.leases l ON l.job = j.number
  LEFT JOIN claimcheck.decisions d ON d.job = j.number
WHERE j.number = ANY (:numbers::bigint[])
ORDER BY j.number DESC;
