-- name: statuses
SELECT j.id, j.lane, j.status, j.attempt, j.artifact, j.updated_at, j.event_count, l.since, d.error, n.tenant, n.workflow
FROM claimcheck.jobs j
  JOIN claimcheck.lanes n ON n.lane = j.lane
  LEFT JOIN claimcheck.leases l ON l.job = j.number
  LEFT JOIN claimcheck.decisions d ON d.job = j.number
WHERE j.id = ANY (string_to_array(:ids, E'\x1e', ''));

-- name: job
SELECT j.number, j.id, j.lane, j.status, j.priority, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.run_at,
  j.created_at, j.updated_at, j.started_at, j.finished_at, j.events, j.errors,
  j.artifact, j.artifacts, j.decision, j.spending_limit, a.spent, a.reserved,
  j.input, j.input_ref, j.input_sha256, j.labels,
  l.token, l.session, l.worker, l.attempt AS lease_attempt, l.since, l.hard_stop, l.progress, s.expires_at,
  n.tenant, n.workflow, n.version, n.output_schema_sha256, CASE WHEN a.calls > 0 THEN (
    SELECT json_agg(c ORDER BY c.n) FROM (
      SELECT n, token, attempt, place, started_at, reserved, opening, reused_from,
        ended_at, ended, response, billing, cost, settled_by, settled_at
      FROM claimcheck.model_calls WHERE job = j.number
    ) c
  ) END AS calls
FROM claimcheck.jobs j
  JOIN claimcheck.lanes n ON n.lane = j.lane
  LEFT JOIN claimcheck.leases l ON l.job = j.number
  LEFT JOIN claimcheck.sessions s ON s.session = l.session
  LEFT JOIN claimcheck.spending a ON a.day = '' AND a.scope = 'job' AND a.name = :id
WHERE j.id = :id AND n.tenant = :tenant;

-- name: inlineBlob
-- An output is in its job's record or under its number, and the record describes it.
SELECT uri, media_type, bytes, NULL AS artifact FROM claimcheck.blobs WHERE uri = :uri
UNION ALL SELECT NULL, NULL, coalesce(j.output, o.bytes), j.artifact
FROM claimcheck.jobs j LEFT JOIN claimcheck.outputs o ON o.job = j.number
WHERE j.id = :id AND coalesce(j.output, o.bytes) IS NOT NULL;
