-- name: look
-- The time, and what is known of these idempotency keys.
WITH known AS (
  SELECT i.* FROM unnest(string_to_array(:tenants, E'\x1e', ''), string_to_array(:names, E'\x1e', '')) AS k(tenant, name)
  CROSS JOIN LATERAL (
    SELECT i.tenant, i.name, i.request_sha256, i.jobs FROM claimcheck.idempotency i
    WHERE i.tenant = k.tenant AND i.name = k.name OFFSET 0
  ) i
)
SELECT one.now, k.tenant, k.name, k.request_sha256, ARRAY(
  SELECT j.id FROM unnest(k.jobs) WITH ORDINALITY AS u(number, nth)
  CROSS JOIN LATERAL (SELECT j.id FROM claimcheck.jobs j WHERE j.number = u.number OFFSET 0) j
  ORDER BY u.nth
) AS job_ids
FROM (SELECT claimcheck.now_ms() AS now OFFSET 0) one LEFT JOIN known k ON true;

-- name: add
-- What jobs have in common is given once, and each job has the place of its own there (`terms`).
-- Where no `now` is given, the jobs were accepted as of 0: their instants are distances, and this statement's time is added.
-- Workers are told where nothing that came in lately still waits in the lane: whoever works on it is awake then, and looks once more soon.
-- (Not by NOT EXISTS, which would become a join with all that is ready.) Within somebody's own transaction (`told_later`) they are
-- told in any case: it may be long until that is committed. They are told, too, of what is due before an idle worker looks
-- again by itself. Where somebody who listens holds a transaction open, what is told piles up, and a full queue would have
-- every commit refused that tells of something: so from half on nothing is told.
WITH moment AS MATERIALIZED (
  SELECT coalesce(:now::bigint, now) AS now, CASE WHEN :now::bigint IS NULL THEN now ELSE 0 END AS base,
    ARRAY(SELECT nextval('claimcheck.job_numbers') FROM generate_subscripts(:terms::integer[], 1)) AS numbers
  FROM claimcheck.now_ms() AS now
), given AS MATERIALIZED (
  SELECT m.now, m.base, m.numbers, string_to_array(:input_refs, E'\x1e', '') AS input_refs,
    string_to_array(:labels, E'\x1e', '') AS labels,
    string_to_array(
      CASE WHEN m.base = 0 THEN :events ELSE replace(:events, '"at":0,', concat('"at":', m.base, ',')) END, E'\x1e', ''
    ) AS events
  FROM moment m
), asked AS MATERIALIZED (
  SELECT g.numbers[u.nth] AS number, u.id, (:lanes::integer[])[u.term] AS lane, (:priorities::integer[])[u.term] AS priority,
    (:timeouts::bigint[])[u.term] AS timeout_ms, (:max_attempts::integer[])[u.term] AS max_attempts,
    (:deadlines::bigint[])[u.term] AS deadline_ms, (:spending_limits::bigint[])[u.term] AS spending_limit,
    (:deadlines_at::bigint[])[u.term] + g.base AS deadline_at, (:runs_at::bigint[])[u.term] + g.base AS run_at,
    u.input, g.input_refs[u.term] AS input_ref, u.input_sha256, g.labels[u.term] AS labels, g.events[u.term] AS events
  FROM given g CROSS JOIN unnest(
    string_to_array(:ids, E'\x1e', ''), string_to_array(:inputs, E'\x1e', ''),
    string_to_array(:inputs_sha256, E'\x1e', ''), :terms::integer[]
  ) WITH ORDINALITY AS u(id, input, input_sha256, term, nth)
), keys AS (
  INSERT INTO claimcheck.idempotency (tenant, name, request_sha256, jobs, open_at)
  SELECT k.tenant, k.name, k.request_sha256, m.numbers[k.first_nth : k.last_nth], m.now
  FROM moment m CROSS JOIN unnest(
    string_to_array(:key_tenants, E'\x1e', ''), string_to_array(:key_names, E'\x1e', ''),
    string_to_array(:key_requests, E'\x1e', ''), :key_firsts::integer[], :key_lasts::integer[]
  ) AS k(tenant, name, request_sha256, first_nth, last_nth)
  ORDER BY k.tenant, k.name
), jobs AS (
  INSERT INTO claimcheck.jobs (number, id, lane, priority, place, timeout_ms, max_attempts, deadline_at, deadline_ms,
    run_at, created_at, updated_at, input, input_ref, input_sha256, labels, events, spending_limit)
  SELECT number, id, lane, priority, run_at, timeout_ms, max_attempts, deadline_at, deadline_ms,
    run_at, m.now, m.now, input, input_ref, input_sha256, labels, events, spending_limit
  FROM moment m CROSS JOIN asked
), ready AS (
  INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
  SELECT lane, -priority, run_at, number, deadline_at FROM moment m CROSS JOIN asked WHERE run_at <= m.now
), scheduled AS (
  INSERT INTO claimcheck.scheduled (due, job, lane, rank, deadline_at)
  SELECT run_at, number, lane, -priority, deadline_at FROM moment m CROSS JOIN asked WHERE run_at > m.now
), labelled AS (
  INSERT INTO claimcheck.labels (tenant, name, value, job)
  SELECT l.tenant, l.name, l.value, m.numbers[l.nth] FROM moment m CROSS JOIN unnest(
    string_to_array(:label_tenants, E'\x1e', ''), string_to_array(:label_names, E'\x1e', ''),
    string_to_array(:label_values, E'\x1e', ''), :label_jobs::integer[]
  ) AS l(tenant, name, value, nth)
), told AS MATERIALIZED (
  SELECT FROM moment m CROSS JOIN LATERAL (
    SELECT DISTINCT lane, priority, CASE WHEN run_at > m.now THEN run_at END AS due FROM asked WHERE run_at < m.now + 500
  ) a
  WHERE CASE
    WHEN a.due IS NULL THEN :told_later::boolean OR (
      SELECT r.job FROM claimcheck.ready r
      WHERE r.lane = a.lane AND r.rank = -a.priority AND r.place > m.now - 100 LIMIT 1
    ) IS NULL
    ELSE a.due < coalesce((SELECT min(due) FROM claimcheck.scheduled), a.due + 1)
  END
  LIMIT 1
)
SELECT m.base, CASE
    WHEN EXISTS (SELECT FROM told) THEN CASE WHEN pg_notification_queue_usage() < 0.5 THEN pg_notify(:channel, 'ready') END
  END AS said
FROM moment m;

-- name: addAlike
-- As `add`, for jobs that were accepted as of 0 and differ in their ids and inputs alone.
WITH moment AS MATERIALIZED (
  SELECT now, replace(:event, '"at":0,', concat('"at":', now, ',')) AS event FROM claimcheck.now_ms() AS now
), jobs AS (
  INSERT INTO claimcheck.jobs (number, id, lane, priority, place, timeout_ms, max_attempts, deadline_at, deadline_ms,
    run_at, created_at, updated_at, input, input_ref, input_sha256, events, spending_limit)
  SELECT nextval('claimcheck.job_numbers'), u.id, :lane::integer, :priority::integer, m.now, :timeout::bigint,
    :max_attempts::integer, m.now + :deadline_at::bigint, :deadline::bigint, m.now, m.now, m.now, u.input, :input_ref::text,
    u.input_sha256, m.event, :spending_limit::bigint
  FROM moment m CROSS JOIN (
    SELECT unnest(string_to_array(:ids, E'\x1e', '')) AS id, unnest(string_to_array(:inputs, E'\x1e', '')) AS input,
      unnest(string_to_array(:inputs_sha256, E'\x1e', '')) AS input_sha256
  ) u
  RETURNING lane, priority, place, number, deadline_at
), ready AS (
  INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
  SELECT lane, -priority, place, number, deadline_at FROM jobs
)
SELECT m.now AS base, CASE WHEN (:told_later::boolean OR (
    SELECT r.job FROM claimcheck.ready r
    WHERE r.lane = :lane::integer AND r.rank = -:priority::integer AND r.place > m.now - 100 LIMIT 1
  ) IS NULL) AND pg_notification_queue_usage() < 0.5 THEN pg_notify(:channel, 'ready') END AS said
FROM moment m;
