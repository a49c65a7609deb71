-- name: look
-- Which lanes have something ready behind their marks, and how much of it, up to what is asked for; where there is but one lane,
-- only whether: it need not share. A lane of suspects counts where one waits. A row without a lane where there is none.
WITH known AS MATERIALIZED (
  SELECT l.*, m.rank, m.place, m.job FROM unnest(
    string_to_array(:workflows, E'\x1e', ''), string_to_array(:versions, E'\x1e', ''), string_to_array(:schemas, E'\x1e', '')
  ) AS w(workflow, version, schema)
  JOIN claimcheck.lanes l
    ON l.workflow = w.workflow AND l.version = w.version AND l.output_schema_sha256 = w.schema
  LEFT JOIN unnest(:mark_lanes::integer[], :mark_ranks::integer[], :mark_places::bigint[], :mark_jobs::bigint[])
    AS m(lane, rank, place, job) ON m.lane = l.lane
  WHERE l.suspicion = 0 OR EXISTS (SELECT FROM claimcheck.ready r WHERE r.lane = l.lane)
)
SELECT one.now, one.alive, one.promote,
  k.lane, k.tenant, k.workflow, k.version, k.output_schema_sha256, k.suspicion, k.rank, k.place, k.job, (
    SELECT count(*) FROM (
      SELECT FROM claimcheck.ready r
      WHERE r.lane = k.lane
        AND (r.rank, r.place, r.job) > (coalesce(k.rank, -1000), coalesce(k.place, 0), coalesce(k.job, 0))
      LIMIT CASE WHEN (SELECT count(*) FROM known) = 1 THEN 1 ELSE :limit::bigint END
    ) AS part
  ) AS waiting
FROM (
  SELECT claimcheck.now_ms() AS now,
    EXISTS (
      SELECT FROM claimcheck.sessions WHERE session = :session AND reaped_at IS NULL AND claims_after < :serial
    ) AS alive,
    (SELECT min(due) <= claimcheck.now_ms() FROM claimcheck.scheduled) AS promote
) one
LEFT JOIN known k ON true
ORDER BY k.lane;

-- name: take
-- The session's row is locked against being reaped until the leases are there: a reaper that comes later finds them. A take that
-- finds nothing locks nothing, and so leaves nothing to sync to the disk. Jobs past their deadline stay where they are and are
-- given without a token. What the jobs of a claim mostly have in common is one column: each costs the client something, a row.
WITH moment AS MATERIALIZED (
  SELECT claimcheck.now_ms() AS now
), picked AS MATERIALIZED (
  SELECT r.* FROM moment m
  CROSS JOIN unnest(:lanes::integer[], :shares::integer[], :ranks::integer[], :places::bigint[], :jobs::bigint[])
    AS w(lane, share, rank, place, job)
  CROSS JOIN LATERAL (
    SELECT r.ctid AS place_in_table, r.lane, r.rank, r.place, r.job, r.deadline_at > m.now AS live, m.now
    FROM claimcheck.ready r WHERE r.lane = w.lane AND (r.rank, r.place, r.job) > (w.rank, w.place, w.job)
    ORDER BY r.rank, r.place, r.job
    LIMIT w.share FOR UPDATE SKIP LOCKED
  ) r
), alive AS MATERIALIZED (
  SELECT session FROM claimcheck.sessions
  WHERE session = :session AND reaped_at IS NULL AND claims_after < :serial AND EXISTS (SELECT FROM picked)
  FOR SHARE
), taken AS NOT MATERIALIZED (
  SELECT p.* FROM picked p WHERE EXISTS (SELECT FROM alive)
), gone AS (
  DELETE FROM claimcheck.ready WHERE ctid = ANY (ARRAY(SELECT place_in_table FROM taken WHERE live))
), found AS MATERIALIZED (
  -- The record says of a job that waits all that its row here said; read by an array of keys, one look into the index finds neighbours.
  SELECT j.*, CASE WHEN j.live THEN nextval('claimcheck.lease_tokens') END AS token
  FROM (
    SELECT j.lane, -j.priority AS rank, j.place, j.number AS job, j.deadline_at > m.now AS live, m.now,
      j.id, j.attempt, j.used, j.replays, j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms,
      j.decision, j.event_count, j.input, j.input_ref, j.labels
    FROM moment m CROSS JOIN claimcheck.jobs j WHERE j.number = ANY (ARRAY(SELECT job FROM taken))
    ORDER BY j.lane, -j.priority, j.place, j.number
  ) j
), leased AS (
  INSERT INTO claimcheck.leases (job, token, since, hard_stop, attempt, session, worker)
  SELECT job, token, now, least(now + timeout_ms, deadline_at), attempt + 1, :session, :worker FROM found WHERE live
)
SELECT
  concat_ws(',', m.now, a.alive::integer, f.lane, -f.rank, f.attempt, f.used, f.replays, f.timeout_ms, f.max_attempts, f.deadline_ms,
    f.event_count) AS shared,
  f.place, f.job AS number, f.id, f.deadline_at, f.decision, f.input, f.input_ref, f.labels, f.token
FROM moment m CROSS JOIN (
  SELECT CASE
    WHEN EXISTS (SELECT FROM picked) THEN EXISTS (SELECT FROM alive)
    ELSE EXISTS (SELECT FROM claimcheck.sessions WHERE session = :session AND reaped_at IS NULL AND claims_after < :serial)
  END AS alive
) a LEFT JOIN found f ON true
ORDER BY f.token;

-- name: promote
WITH due AS (
  DELETE FROM claimcheck.scheduled WHERE (due, job) IN (
    SELECT due, job FROM claimcheck.scheduled WHERE due <= claimcheck.now_ms()
    ORDER BY due, job LIMIT :limit::bigint FOR UPDATE SKIP LOCKED
  ) RETURNING due, job, lane, rank, deadline_at
)
INSERT INTO claimcheck.ready (lane, rank, place, job, deadline_at)
SELECT lane, rank, due, job, deadline_at FROM due;

-- name: waiting
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision, j.event_count,
  NULL AS token, NULL AS session, NULL AS worker, NULL AS since, claimcheck.now_ms() AS now
FROM claimcheck.jobs j WHERE j.number = ANY (:jobs::bigint[])
  AND NOT EXISTS (SELECT FROM claimcheck.leases l WHERE l.job = j.number);
