-- name: find
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision, j.event_count,
  l.token, l.session, l.worker, l.since, claimcheck.now_ms() AS now
FROM claimcheck.jobs j JOIN claimcheck.lanes n ON n.lane = j.lane LEFT JOIN claimcheck.leases l ON l.job = j.number
WHERE j.id = :id AND n.tenant = :tenant;
