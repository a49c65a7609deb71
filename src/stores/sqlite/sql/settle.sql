-- name: held
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision,
  l.token, l.session, l.worker, l.since
FROM jobs j CROSS JOIN leases l ON l.job = j.number
WHERE j.id = :id AND l.token = :token;

-- name: progress
UPDATE leases SET progress = :progress
WHERE token = :token AND job = (SELECT number FROM jobs WHERE id = :id);
