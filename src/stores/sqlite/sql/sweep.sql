-- name: expired
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision,
  NULL AS token, NULL AS session, NULL AS worker, NULL AS since
FROM ready r CROSS JOIN jobs j ON j.number = r.job
WHERE r.deadline_at <= :now
ORDER BY r.deadline_at
LIMIT :limit;

-- name: overdue
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision,
  l.token, l.session, l.worker, l.since
FROM leases l CROSS JOIN jobs j ON j.number = l.job
WHERE l.hard_stop <= :stopped_before
LIMIT :limit;

-- name: held
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision,
  l.token, l.session, l.worker, l.since
FROM leases l CROSS JOIN jobs j ON j.number = l.job
WHERE l.session = :session
LIMIT :limit;

-- name: promote
INSERT INTO ready (lane, priority, place, job, deadline_at)
SELECT lane, priority, due, job, deadline_at FROM scheduled WHERE due <= :now ORDER BY due, job LIMIT :limit;

-- name: dropPromoted
DELETE FROM scheduled WHERE (due, job) IN (
  SELECT due, job FROM scheduled WHERE due <= :now ORDER BY due, job LIMIT :limit
);

-- name: silent
SELECT session FROM sessions WHERE reaped_at IS NOT NULL OR expires_at <= :now ORDER BY expires_at LIMIT 1;

-- name: reap
UPDATE sessions SET reaped_at = :now WHERE session = :session AND reaped_at IS NULL;

-- name: forgetRevoked
DELETE FROM revocations WHERE session = :session;

-- name: forgetSession
DELETE FROM sessions WHERE session = :session AND reaped_at IS NOT NULL;

-- name: oldKeys
-- When each of these keys' jobs was last known to be unfinished.
SELECT i.tenant, i.name, (
  SELECT CASE WHEN count(*) = count(j.finished_at) THEN coalesce(max(j.finished_at), 0) ELSE :now END
  FROM jobs j WHERE j.number BETWEEN i.first_job AND i.last_job
) AS open_at
FROM idempotency i WHERE i.open_at <= :open_before ORDER BY i.open_at LIMIT :limit;

-- name: keepKey
UPDATE idempotency SET open_at = :open_at WHERE tenant = :tenant AND name = :name;

-- name: forgetKey
DELETE FROM idempotency WHERE tenant = :tenant AND name = :name;

-- name: work
SELECT EXISTS (SELECT 1 FROM ready WHERE deadline_at <= :now)
  OR EXISTS (SELECT 1 FROM scheduled WHERE due <= :now)
  OR EXISTS (SELECT 1 FROM leases WHERE hard_stop <= :stopped_before)
  OR EXISTS (SELECT 1 FROM idempotency WHERE open_at <= :open_before)
  OR (:reap AND EXISTS (SELECT 1 FROM sessions WHERE reaped_at IS NOT NULL OR expires_at <= :now)) AS found;

-- name: nextDue
SELECT min(due) AS due FROM scheduled;
