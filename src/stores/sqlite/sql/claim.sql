-- name: isDue
SELECT 1 AS is_due FROM scheduled WHERE due <= :now LIMIT 1;

-- name: promote
INSERT INTO ready (lane, priority, place, job, deadline_at)
SELECT lane, priority, due, job, deadline_at FROM scheduled WHERE due <= :now ORDER BY due, job LIMIT :limit;

-- name: dropPromoted
DELETE FROM scheduled WHERE (due, job) IN (
  SELECT due, job FROM scheduled WHERE due <= :now ORDER BY due, job LIMIT :limit
);

-- name: lanesWithReady
SELECT lane, tenant, suspicion FROM lanes
WHERE workflow = :workflow AND version = :version AND output_schema_sha256 = :output_schema_sha256
  AND EXISTS (SELECT 1 FROM ready WHERE ready.lane = lanes.lane)
ORDER BY lane;

-- name: first
SELECT r.job AS number, r.priority, r.place, j.id, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision, j.event_count,
  q.input, q.input_ref, q.labels
FROM ready r CROSS JOIN jobs j ON j.number = r.job CROSS JOIN requests q ON q.job = r.job
WHERE r.lane = :lane
ORDER BY r.priority DESC, r.place, r.job
LIMIT :limit;

-- name: lease
-- What the domain decides of a claim, for many jobs at once: an attempt more, until the timeout or the deadline.
INSERT INTO leases (job, token, session, worker, attempt, since, hard_stop)
SELECT j.number, :first_token + e.key, :session, :worker, j.attempt + 1, :since, min(:since + j.timeout_ms, j.deadline_at)
FROM json_each(:jobs) e CROSS JOIN jobs j ON j.number = e.value;

-- name: leaveUrgent
-- A claim takes a lane from its start, so what it took is all that stands before a place.
DELETE FROM ready WHERE lane = :lane AND priority > :priority;

-- name: leaveUpTo
DELETE FROM ready WHERE lane = :lane AND priority = :priority AND (place, job) <= (:place, :job);
