-- name: position
-- The number that a page goes on below; for an id that is no more, that of the next older one and itself.
SELECT CASE WHEN id = :id THEN number ELSE number + 1 END AS number
FROM claimcheck.jobs WHERE id <= :id ORDER BY id DESC LIMIT 1;

-- name: inLane
SELECT f.number FROM claimcheck.lanes l CROSS JOIN LATERAL (
  SELECT j.number FROM claimcheck.jobs j
  WHERE j.lane = l.lane AND j.number < :before::bigint AND (NOT :completed::boolean OR j.status = 'completed')
  ORDER BY j.number DESC LIMIT :limit::bigint
) f
WHERE l.tenant = :tenant AND (:workflow::text IS NULL OR l.workflow = :workflow)
ORDER BY f.number DESC LIMIT :limit::bigint;

-- name: queued
SELECT job AS number FROM (
  SELECT job, lane FROM claimcheck.ready WHERE job < :before::bigint
  UNION ALL SELECT job, lane FROM claimcheck.scheduled WHERE job < :before::bigint
) q
WHERE lane = ANY (ARRAY(
    SELECT lane FROM claimcheck.lanes WHERE tenant = :tenant AND (:workflow::text IS NULL OR workflow = :workflow)
  ))
ORDER BY job DESC LIMIT :limit::bigint;

-- name: running
-- Here and below, the first table is read in the order of its key, so the reading ends with the page. What else is asked for is
-- looked up row by row: behind OFFSET 0, which keeps the planner from reading whole tables instead.
SELECT s.job AS number FROM claimcheck.leases s
CROSS JOIN LATERAL (SELECT j.lane FROM claimcheck.jobs j WHERE j.number = s.job OFFSET 0) j
WHERE s.job < :before::bigint AND j.lane = ANY (ARRAY(
    SELECT lane FROM claimcheck.lanes WHERE tenant = :tenant AND (:workflow::text IS NULL OR workflow = :workflow)
  ))
  AND (
    SELECT count(*) FROM unnest(
      string_to_array(:names, E'\x1e', ''), string_to_array(:values, E'\x1e', '')
    ) AS w(name, value) CROSS JOIN LATERAL (
      SELECT FROM claimcheck.labels l
      WHERE l.tenant = :tenant AND l.name = w.name AND l.value = w.value AND l.job = s.job OFFSET 0
    ) l
  ) = :labels::integer
ORDER BY s.job DESC LIMIT :limit::bigint;

-- name: dead
SELECT s.job AS number
FROM (SELECT job, tenant FROM claimcheck.decisions WHERE job < :before::bigint ORDER BY job DESC OFFSET 0) s
CROSS JOIN LATERAL (SELECT j.lane FROM claimcheck.jobs j WHERE j.number = s.job OFFSET 0) j
WHERE s.tenant = :tenant AND j.lane = ANY (ARRAY(
    SELECT lane FROM claimcheck.lanes WHERE tenant = :tenant AND (:workflow::text IS NULL OR workflow = :workflow)
  ))
  AND (
    SELECT count(*) FROM unnest(
      string_to_array(:names, E'\x1e', ''), string_to_array(:values, E'\x1e', '')
    ) AS w(name, value) CROSS JOIN LATERAL (
      SELECT FROM claimcheck.labels l
      WHERE l.tenant = :tenant AND l.name = w.name AND l.value = w.value AND l.job = s.job OFFSET 0
    ) l
  ) = :labels::integer
ORDER BY s.job DESC LIMIT :limit::bigint;

-- name: deadWithCode
SELECT s.job AS number FROM claimcheck.decisions s
CROSS JOIN LATERAL (SELECT j.lane FROM claimcheck.jobs j WHERE j.number = s.job OFFSET 0) j
WHERE s.tenant = :tenant AND s.code = :code AND s.job < :before::bigint AND j.lane = ANY (ARRAY(
    SELECT lane FROM claimcheck.lanes WHERE tenant = :tenant AND (:workflow::text IS NULL OR workflow = :workflow)
  ))
  AND (
    SELECT count(*) FROM unnest(
      string_to_array(:names, E'\x1e', ''), string_to_array(:values, E'\x1e', '')
    ) AS w(name, value) CROSS JOIN LATERAL (
      SELECT FROM claimcheck.labels l
      WHERE l.tenant = :tenant AND l.name = w.name AND l.value = w.value AND l.job = s.job OFFSET 0
    ) l
  ) = :labels::integer
ORDER BY s.job DESC LIMIT :limit::bigint;

-- name: withLabel
SELECT s.job AS number FROM (
  SELECT s.job FROM claimcheck.labels s
  WHERE s.tenant = :tenant AND s.name = :name AND s.value = :value AND s.job < :before::bigint AND (
    SELECT count(*) FROM unnest(
      string_to_array(:names, E'\x1e', ''), string_to_array(:values, E'\x1e', '')
    ) AS w(name, value) CROSS JOIN LATERAL (
      SELECT FROM claimcheck.labels l
      WHERE l.tenant = :tenant AND l.name = w.name AND l.value = w.value AND l.job = s.job OFFSET 0
    ) l
  ) = :labels::integer
  ORDER BY s.job DESC OFFSET 0
) s CROSS JOIN LATERAL (
  SELECT j.lane, CASE WHEN l.job IS NULL THEN j.status ELSE 'running' END AS status
  FROM claimcheck.jobs j LEFT JOIN claimcheck.leases l ON l.job = j.number WHERE j.number = s.job OFFSET 0
) j
WHERE (:status::text IS NULL OR j.status = :status) AND j.lane = ANY (ARRAY(
    SELECT lane FROM claimcheck.lanes WHERE tenant = :tenant AND (:workflow::text IS NULL OR workflow = :workflow)
  ))
ORDER BY s.job DESC LIMIT :limit::bigint;

-- name: status
SELECT j.id, j.lane, j.number, j.status, j.attempt, j.artifact, j.updated_at, j.event_count, l.since, d.error,
  n.tenant, n.workflow, n.version, n.output_schema_sha256
FROM claimcheck.jobs j
  JOIN claimcheck.lanes n ON n.lane = j.lane
  LEFT JOIN claimcheck.leases l ON l.job = j.number
  LEFT JOIN claimcheck.decisions d ON d.job = j.number
WHERE j.number = ANY (:numbers::bigint[])
ORDER BY j.number DESC;
