-- name: end
-- Attempts end where their lease, with this token, is still there: to take it away is what entitles to the rest.
WITH moves AS MATERIALIZED (
  SELECT * FROM unnest(
    :jobs::bigint[], :tokens::bigint[], string_to_array(:statuses, E'\x1e', ''), :places::bigint[], :dues::bigint[],
    :attempts::integer[], :used::integer[], :event_counts::integer[],
    string_to_array(:events, E'\x1e', ''), string_to_array(:errors, E'\x1e', ''),
    string_to_array(:artifact, E'\x1e', ''), string_to_array(:artifacts, E'\x1e', ''),
    string_to_array(:decisions, E'\x1e', ''), string_to_array(:codes, E'\x1e', ''), string_to_array(:shown, E'\x1e', '')
  ) AS m(job, token, status, place, due, attempt, used, event_count, events, errors, artifact, artifacts, decision, code, shown)
), ended AS (
  DELETE FROM claimcheck.leases l USING moves m WHERE l.job = m.job AND l.token = m.token
  RETURNING l.job, l.token, l.session, l.since
), written AS (
  UPDATE claimcheck.jobs j SET
    status = m.status, place = m.place, attempt = m.attempt, used = m.used, updated_at = :now::bigint,
    started_at = coalesce(j.started_at, e.since), finished_at = CASE WHEN m.due IS NULL THEN :now::bigint END,
    event_count = j.event_count + m.event_count, events = j.events || m.events, errors = j.errors || coalesce(m.errors, ''),
    artifact = m.artifact, artifacts = m.artifacts, decision = m.decision
  FROM ended e JOIN moves m ON m.job = e.job
  WHERE j.number = e.job
  RETURNING j.number, j.id, j.lane, -j.priority AS rank, j.place, j.deadline_at, j.keyed, m.due, m.code, m.shown, e.token, e.session
), kept AS (
  INSERT INTO claimcheck.blobs (uri, media_type, bytes)
  SELECT b.uri, b.media_type, b.bytes
  FROM unnest(
    :blob_jobs::bigint[], string_to_array(:blob_uris, E'\x1e', ''), string_to_array(:blob_media_types, E'\x1e', ''), :blob_bytes::bytea[]
  ) AS b(job, uri, media_type, bytes)
  JOIN ended e ON e.job = b.job
), ready AS (
  INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
  SELECT lane, rank, place, number, deadline_at FROM written WHERE due <= :now::bigint
), scheduled AS (
  INSERT INTO claimcheck.scheduled (due, job, lane, rank, deadline_at)
  SELECT due, number, lane, rank, deadline_at FROM written WHERE due > :now::bigint
), asked AS (
  INSERT INTO claimcheck.decisions (job, tenant, code, error)
  SELECT w.number, l.tenant, w.code, w.shown FROM written w JOIN claimcheck.lanes l ON l.lane = w.lane WHERE w.code IS NOT NULL
), revoked AS (
  INSERT INTO claimcheck.revocations (session, token, job_id) SELECT session, token, id FROM written WHERE :revoke::boolean
), keys AS (
  UPDATE claimcheck.idempotency i SET ended_at = :now::bigint FROM written w WHERE w.keyed AND w.due IS NULL AND i.job = w.number
)
SELECT number FROM written;

-- name: bury
-- Waiting jobs die where they still wait and nobody has written their record since it was read.
WITH moves AS MATERIALIZED (
  SELECT m.*, j.lane, -j.priority AS rank, j.place FROM unnest(
    :jobs::bigint[], :seen::integer[], :event_counts::integer[],
    string_to_array(:events, E'\x1e', ''), string_to_array(:errors, E'\x1e', ''),
    string_to_array(:decisions, E'\x1e', ''), string_to_array(:codes, E'\x1e', ''), string_to_array(:shown, E'\x1e', '')
  ) AS m(job, seen, event_count, events, errors, decision, code, shown)
  JOIN claimcheck.jobs j ON j.number = m.job AND j.event_count = m.seen
), left_ready AS (
  DELETE FROM claimcheck.ready r USING moves m
  WHERE r.lane = m.lane AND r.rank = m.rank AND r.place = m.place AND r.job = m.job
  RETURNING r.job
), left_scheduled AS (
  DELETE FROM claimcheck.scheduled s USING moves m WHERE s.due = m.place AND s.job = m.job RETURNING s.job
), written AS (
  UPDATE claimcheck.jobs j SET
    status = 'dead_letter', updated_at = :now::bigint, finished_at = :now::bigint,
    event_count = j.event_count + m.event_count, events = j.events || m.events, errors = j.errors || m.errors,
    decision = m.decision
  FROM (SELECT job FROM left_ready UNION ALL SELECT job FROM left_scheduled) g JOIN moves m ON m.job = g.job
  WHERE j.number = g.job
  RETURNING j.number, j.lane, j.keyed, m.code, m.shown
), asked AS (
  INSERT INTO claimcheck.decisions (job, tenant, code, error)
  SELECT w.number, l.tenant, w.code, w.shown FROM written w JOIN claimcheck.lanes l ON l.lane = w.lane
), keys AS (
  UPDATE claimcheck.idempotency i SET ended_at = :now::bigint FROM written w WHERE w.keyed AND i.job = w.number
)
SELECT number FROM written;

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
    updated_at = :now::bigint, finished_at = NULL,
    event_count = j.event_count + :event_count::integer, events = j.events || :events, decision = :decision
  FROM answered a WHERE j.number = a.job
  RETURNING j.number, j.lane, -j.priority AS rank, j.place, j.deadline_at, j.keyed
), ready AS (
  INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
  SELECT lane, rank, place, number, deadline_at FROM written
), keys AS (
  UPDATE claimcheck.idempotency i SET ended_at = NULL FROM written w WHERE w.keyed AND i.job = w.number
)
SELECT number FROM written;
