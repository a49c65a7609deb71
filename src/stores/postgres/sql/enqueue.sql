-- name: look
-- The time, numbers for as many jobs, and what is known of these idempotency keys.
WITH one AS MATERIALIZED (
  SELECT claimcheck.now_ms() AS now, ARRAY(
    SELECT nextval('claimcheck.job_numbers')::text FROM generate_series(1, :count::integer)
  ) AS numbers
), known AS (
  SELECT i.* FROM unnest(string_to_array(:tenants, E'\x1e', ''), string_to_array(:names, E'\x1e', '')) AS k(tenant, name)
  CROSS JOIN LATERAL (
    SELECT i.tenant, i.name, i.job_id, i.request_sha256 FROM claimcheck.idempotency i
    WHERE i.tenant = k.tenant AND i.name = k.name OFFSET 0
  ) i
)
SELECT one.now, one.numbers, k.* FROM one LEFT JOIN known k ON true;

-- name: add
-- A lane is told of where nothing that came in lately still waits in it: whoever works on it is awake then.
WITH asked AS MATERIALIZED (
  SELECT * FROM unnest(
    :numbers::bigint[], string_to_array(:ids, E'\x1e', ''), :lanes::integer[], :priorities::integer[],
    :timeouts::bigint[], :max_attempts::integer[], :deadlines_at::bigint[], :deadlines::bigint[], :runs_at::bigint[],
    :keyed::boolean[], string_to_array(:inputs, E'\x1e', ''), string_to_array(:input_refs, E'\x1e', ''),
    string_to_array(:inputs_sha256, E'\x1e', ''), string_to_array(:labels, E'\x1e', ''),
    string_to_array(:events, E'\x1e', '')
  ) AS u(
    number, id, lane, priority, timeout_ms, max_attempts, deadline_at, deadline_ms, run_at,
    keyed, input, input_ref, input_sha256, labels, events
  )
), keys AS (
  INSERT INTO claimcheck.idempotency (tenant, name, request_sha256, job, job_id)
  SELECT * FROM unnest(
    string_to_array(:key_tenants, E'\x1e', ''), string_to_array(:key_names, E'\x1e', ''),
    string_to_array(:key_requests, E'\x1e', ''), :key_numbers::bigint[], string_to_array(:key_ids, E'\x1e', '')
  ) AS k(tenant, name, request_sha256, job, job_id)
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
  SELECT * FROM unnest(
    string_to_array(:label_tenants, E'\x1e', ''), string_to_array(:label_names, E'\x1e', ''),
    string_to_array(:label_values, E'\x1e', ''), :label_numbers::bigint[]
  ) AS l(tenant, name, value, job)
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
