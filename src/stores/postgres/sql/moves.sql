-- name: end
-- Attempts end where their lease, with this token, is still there: to take it away is what entitles to the rest. It gives those that
-- did not end, which are mostly none, and at least one row.
--
-- No join leaves the planner a choice between a good plan and a disaster: `generate_subscripts` makes it expect many moves,
-- and each large table is read by the keys of an array.
WITH moves AS MATERIALIZED (
  SELECT * FROM ROWS FROM (unnest(
    :jobs::bigint[], :tokens::bigint[], string_to_array(:statuses, E'\x1e', ''), :lanes::integer[],
    :places::bigint[], :dues::bigint[], :attempts::integer[], :used::integer[], :sinces::bigint[], :event_counts::integer[],
    :event_places::integer[], string_to_array(:errors, E'\x1e', ''),
    string_to_array(:artifact, E'\x1e', ''), string_to_array(:artifacts, E'\x1e', ''),
    string_to_array(:decisions, E'\x1e', ''), string_to_array(:tenants, E'\x1e', ''),
    string_to_array(:codes, E'\x1e', ''), string_to_array(:shown, E'\x1e', ''),
    :output_firsts::integer[], :output_lengths::integer[]
  ), generate_subscripts(:jobs::bigint[], 1)) AS m(
    job, token, status, lane, place, due, attempt, used, since, event_count,
    event_place, errors, artifact, artifacts, decision, tenant, code, shown,
    output_first, output_length, nth
  )
), ended AS (
  DELETE FROM claimcheck.leases l USING moves m
  WHERE l.job = m.job AND l.token = m.token AND l.job = ANY (:jobs::bigint[])
  RETURNING l.job, l.token, l.session
), written AS (
  UPDATE claimcheck.jobs j SET
    status = m.status, lane = m.lane, place = m.place, attempt = m.attempt, used = m.used, updated_at = :now::bigint,
    started_at = coalesce(j.started_at, m.since), finished_at = CASE WHEN m.due IS NULL THEN :now::bigint END,
    event_count = j.event_count + m.event_count,
    events = j.events || (SELECT string_to_array(:events, E'\x1e', ''))[m.event_place],
    errors = j.errors || coalesce(m.errors, ''),
    artifact = m.artifact, artifacts = m.artifacts, decision = m.decision,
    output = CASE WHEN m.output_length <= :small THEN substring(:output_bytes::bytea FROM m.output_first FOR m.output_length) END
  FROM moves m
  WHERE j.number = m.job AND j.number = ANY (ARRAY(SELECT job FROM ended))
  RETURNING j.number, j.id, j.lane, -j.priority AS rank, j.place, j.deadline_at, m.due, m.tenant, m.code, m.shown
), longer AS (
  INSERT INTO claimcheck.outputs (job, bytes)
  SELECT m.job, substring(:output_bytes::bytea FROM m.output_first FOR m.output_length)
  FROM moves m WHERE m.output_length > :small::integer AND m.job IN (SELECT job FROM ended)
), kept AS (
  INSERT INTO claimcheck.blobs (uri, media_type, bytes)
  SELECT b.uri, b.media_type, substring(:blob_bytes::bytea FROM b.first FOR b.length)
  FROM unnest(
    :blob_jobs::bigint[], string_to_array(:blob_uris, E'\x1e', ''),
    string_to_array(:blob_media_types, E'\x1e', ''), :blob_firsts::integer[], :blob_lengths::integer[]
  ) AS b(job, uri, media_type, first, length)
  WHERE (b.job IN (SELECT job FROM ended)) IS TRUE
), waiting AS MATERIALIZED (
  SELECT number, lane, rank, place, deadline_at, due FROM written WHERE due IS NOT NULL
), ready AS (
  INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
  SELECT lane, rank, place, number, deadline_at FROM waiting WHERE due <= :now::bigint
), scheduled AS (
  INSERT INTO claimcheck.scheduled (due, job, lane, rank, deadline_at)
  SELECT due, number, lane, rank, deadline_at FROM waiting WHERE due > :now::bigint
), asked AS (
  INSERT INTO claimcheck.decisions (job, tenant, code, error)
  SELECT number, tenant, code, shown FROM written WHERE code IS NOT NULL
), revoked AS (
  INSERT INTO claimcheck.revocations (session, token, job_id)
  SELECT e.session, e.token, w.id FROM ended e JOIN written w ON w.number = e.job WHERE :revoke::boolean
), told AS MATERIALIZED (
  -- Of what may be claimed now, as an enqueue tells; and of what is due before idle workers would look again by themselves.
  SELECT 'ready' AS what FROM (
    SELECT DISTINCT lane, rank, CASE WHEN due > :now::bigint THEN due END AS due
    FROM waiting WHERE due < :now::bigint + 500
  ) w
  WHERE CASE
    WHEN w.due IS NULL THEN (
      SELECT r.job FROM claimcheck.ready r
      WHERE r.lane = w.lane AND r.rank = w.rank AND r.place > :now::bigint - 100 LIMIT 1
    ) IS NULL
    ELSE w.due < coalesce((SELECT min(due) FROM claimcheck.scheduled), w.due + 1)
  END
  LIMIT 1
), warned AS MATERIALIZED (
  -- A session whose attempts were taken away. Where there are several, they hear of it with their next renewal.
  SELECT concat('revoked ', min(session)) AS what FROM ended
  WHERE :revoke::boolean HAVING count(DISTINCT session) = 1
), said AS MATERIALIZED (
  SELECT CASE WHEN pg_notification_queue_usage() < 0.5 THEN pg_notify(:channel, left(what, 200)) END
  FROM (SELECT what FROM told UNION ALL SELECT what FROM warned) t
)
SELECT said.count AS said, lost.job AS number
FROM (SELECT count(*) FROM said) said
LEFT JOIN (SELECT job FROM moves WHERE job NOT IN (SELECT number FROM written)) lost ON true;

-- name: bury
-- Waiting jobs die where they still wait and nobody has written their record since it was read. It gives those that did not.
WITH moves AS MATERIALIZED (
  SELECT m.*, j.lane, j.rank, j.place FROM ROWS FROM (unnest(
    :jobs::bigint[], :seen::integer[], :event_counts::integer[],
    :event_places::integer[], string_to_array(:errors, E'\x1e', ''),
    string_to_array(:decisions, E'\x1e', ''), string_to_array(:tenants, E'\x1e', ''),
    string_to_array(:codes, E'\x1e', ''), string_to_array(:shown, E'\x1e', '')
  ), generate_subscripts(:jobs::bigint[], 1)) AS m(
    job, seen, event_count, event_place, errors, decision, tenant, code, shown, nth
  ) CROSS JOIN LATERAL (
    SELECT j.lane, -j.priority AS rank, j.place FROM claimcheck.jobs j
    WHERE j.number = m.job AND j.event_count = m.seen OFFSET 0
  ) j
), left_ready AS (
  DELETE FROM claimcheck.ready WHERE ctid = ANY (ARRAY(
    SELECT r.tid FROM moves m CROSS JOIN LATERAL (
      SELECT r.ctid AS tid FROM claimcheck.ready r
      WHERE r.lane = m.lane AND r.rank = m.rank AND r.place = m.place AND r.job = m.job FOR UPDATE
    ) r
  )) RETURNING job
), left_scheduled AS (
  DELETE FROM claimcheck.scheduled WHERE ctid = ANY (ARRAY(
    SELECT s.tid FROM moves m CROSS JOIN LATERAL (
      SELECT s.ctid AS tid FROM claimcheck.scheduled s WHERE s.due = m.place AND s.job = m.job FOR UPDATE
    ) s
  )) RETURNING job
), written AS (
  UPDATE claimcheck.jobs j SET
    status = 'dead_letter', updated_at = :now::bigint, finished_at = :now::bigint,
    event_count = j.event_count + m.event_count,
    events = j.events || (SELECT string_to_array(:events, E'\x1e', ''))[m.event_place],
    errors = j.errors || m.errors,
    decision = m.decision
  FROM moves m
  WHERE j.number = m.job
    AND j.number = ANY (ARRAY(SELECT job FROM left_ready UNION ALL SELECT job FROM left_scheduled))
  RETURNING j.number, m.tenant, m.code, m.shown
), asked AS (
  INSERT INTO claimcheck.decisions (job, tenant, code, error) SELECT number, tenant, code, shown FROM written
)
SELECT job AS number FROM unnest(:jobs::bigint[]) AS asked_for(job) WHERE job NOT IN (SELECT number FROM written);

-- name: revive
-- A dead letter waits again, where its decision is still open and is the one that was read.
WITH answered AS (
  DELETE FROM claimcheck.decisions d USING claimcheck.jobs j
  WHERE d.job = :job::bigint AND j.number = d.job AND j.event_count = :seen::integer
  RETURNING d.job
), written AS (
  UPDATE claimcheck.jobs j SET
    status = 'queued', lane = :lane::integer, place = :place::bigint, used = :used::integer, replays = :replays::integer,
    timeout_ms = :timeout_ms::bigint, max_attempts = :max_attempts::integer,
    deadline_at = :deadline_at::bigint, deadline_ms = :deadline_ms::bigint,
    spending_limit = CASE WHEN :limits_spending::boolean THEN :spending_limit::bigint ELSE j.spending_limit END,
    updated_at = :now::bigint, finished_at = NULL,
    event_count = j.event_count + :event_count::integer, events = j.events || :events, decision = :decision
  FROM answered a WHERE j.number = a.job
  RETURNING j.number, j.lane, -j.priority AS rank, j.place, j.deadline_at
), ready AS (
  INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
  SELECT lane, rank, place, number, deadline_at FROM written
)
SELECT number, CASE WHEN pg_notification_queue_usage() < 0.5 THEN pg_notify(:channel, 'ready') END AS said FROM written;
