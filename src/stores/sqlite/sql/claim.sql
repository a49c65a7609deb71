-- name: promote
INSERT INTO ready (lane, priority, place, job, deadline_at)
SELECT lane, priority, due, job, deadline_at FROM scheduled WHERE due <= :now ORDER BY due, job LIMIT :limit;

-- name: dropPromoted
DELETE FROM scheduled WHERE (due, job) IN (
  SELECT due, job FROM scheduled WHERE due <= :now ORDER BY due, job LIMIT :limit
);

-- name: lanesWithReady
SELECT lane, tenant FROM lanes
WHERE workflow = :workflow AND version = :version AND output_schema_sha256 = :output_schema_sha256
  AND EXISTS (SELECT 1 FROM ready WHERE ready.lane = lanes.lane)
ORDER BY lane;

-- name: first
SELECT r.job AS number, r.priority, r.place, j.id, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision,
  q.input, q.input_ref, q.labels
FROM ready r CROSS JOIN jobs j ON j.number = r.job CROSS JOIN requests q ON q.job = r.job
WHERE r.lane = :lane
ORDER BY r.priority DESC, r.place, r.job
LIMIT :limit;

-- name: leave
DELETE FROM ready WHERE lane = :lane AND priority = :priority AND place = :place AND job = :job;

-- name: lease
INSERT INTO leases (job, token, session, worker, attempt, since, hard_stop)
VALUES (:job, :token, :session, :worker, :attempt, :since, :hard_stop);
