-- name: look
-- The time, and what is known of these idempotency keys.
SELECT claimcheck.now_ms() AS now, i.tenant, i.name, i.job_id, i.request_sha256
FROM (SELECT 1) AS one
LEFT JOIN unnest(string_to_array(:tenants, E'\x1e', ''), string_to_array(:names, E'\x1e', '')) AS k(tenant, name) ON true
LEFT JOIN claimcheck.idempotency i ON i.tenant = k.tenant AND i.name = k.name;

-- name: add
-- A lane is told of where nothing that came in lately still waits in it: whoever works on it is awake then.
WITH asked AS MATERIALIZED (
  SELECT nextval('claimcheck.job_numbers') AS number, a.* FROM (
    SELECT * FROM unnest(
      string_to_array(:ids, E'\x1e', ''), :lanes::integer[], :priorities::integer[],
      :timeouts::bigint[], :max_attempts::integer[], :deadlines_at::bigint[], :deadlines::bigint[], :runs_at::bigint[],
      :keyed::boolean[], string_to_array(:inputs, E'\x1e', ''), string_to_array(:input_refs, E'\x1e', ''),
      string_to_array(:inputs_sha256, E'\x1e', ''), string_to_array(:labels, E'\x1e', ''),
      string_to_array(:events, E'\x1e', '')
    ) WITH ORDINALITY AS u(
      id, lane, priority, timeout_ms, max_attempts, deadline_at, deadline_ms, run_at,
      keyed, input, input_ref, input_sha256, labels, events, place_in_call
    ) ORDER BY place_in_call
  ) a
), keys AS (
  INSERT INTO claimcheck.idempotency (tenant, name, request_sha256, job, job_id)
  SELECT k.tenant, k.name, k.request_sha256, a.number, a.id
  FROM unnest(
    :key_jobs::integer[], string_to_array(:key_tenants, E'\x1e', ''), string_to_array(:key_names, E'\x1e', ''),
    string_to_array(:key_requests, E'\x1e', '')
  ) AS k(place_in_call, tenant, name, request_sha256)
  JOIN asked a ON a.place_in_call = k.place_in_call
  ORDER BY k.tenant, k.name
), jobs AS (
  INSERT INTO claimcheck.jobs (number, id, lane, priority, place, timeout_ms, max_attempts, deadline_at, deadline_ms,
    run_at, created_at, updated_at, keyed, input, input_ref, input_sha256, labels, events)
  SELECT number, id, lane, priority, run_at, timeout_ms, max_attempts, deadline_at, deadline_ms,
    run_at, :now::bigint, :now::bigint, keyed, input, input_ref, input_sha256, labels, events
  FROM asked
), ready AS (
  INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
  SELECT lane, -priority, run_at, number, deadline_at FROM asked WHERE run_at <= :now::bigint
), scheduled AS (
  INSERT INTO claimcheck.scheduled (due, job, lane, rank, deadline_at)
  SELECT run_at, number, lane, -priority, deadline_at FROM asked WHERE run_at > :now::bigint
), labelled AS (
  INSERT INTO claimcheck.labels (tenant, name, value, job)
  SELECT l.tenant, l.name, l.value, a.number
  FROM unnest(
    :label_jobs::integer[], string_to_array(:label_tenants, E'\x1e', ''), string_to_array(:label_names, E'\x1e', ''),
    string_to_array(:label_values, E'\x1e', '')
  ) AS l(place_in_call, tenant, name, value)
  JOIN asked a ON a.place_in_call = l.place_in_call
), told AS MATERIALIZED (
  SELECT l.workflow FROM (SELECT DISTINCT lane, priority FROM asked WHERE run_at <= :now::bigint) a
  JOIN claimcheck.lanes l ON l.lane = a.lane
  WHERE NOT EXISTS (
    SELECT FROM claimcheck.ready r
    WHERE r.lane = a.lane AND r.rank = -a.priority AND r.place > :now::bigint - 100
  )
  LIMIT 1
)
SELECT pg_notify(:channel, left(workflow, 200)) FROM told;
