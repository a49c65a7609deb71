-- name: statuses
-- As `StatusColumns` names them.
SELECT json_group_array(json_array(j.id, j.lane, j.status, j.attempt, j.artifact, j.updated_at, j.event_count, l.since, d.error)) AS rows
FROM json_each(:ids) asked CROSS JOIN jobs j ON j.id = asked.value
  LEFT JOIN leases l ON l.job = j.number LEFT JOIN decisions d ON d.job = j.number;

-- name: job
SELECT j.number, j.id, j.lane, j.status, j.priority, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.run_at,
  j.created_at, j.updated_at, j.started_at, j.finished_at, j.events, j.errors,
  j.artifact, j.artifacts, j.decision, j.spending_limit, a.spent, a.reserved,
  q.input, q.input_ref, q.input_sha256, q.labels,
  l.token, l.session, l.worker, l.attempt AS lease_attempt, l.since, l.hard_stop, l.progress,
  s.expires_at
FROM jobs j
  CROSS JOIN requests q ON q.job = j.number
  LEFT JOIN leases l ON l.job = j.number
  LEFT JOIN sessions s ON s.session = l.session
  LEFT JOIN spending a ON a.scope = 'job' AND a.name = j.id AND a.day = ''
WHERE j.id = :id;
