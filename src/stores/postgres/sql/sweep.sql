-- name: work
SELECT
  EXISTS (SELECT FROM claimcheck.ready WHERE deadline_at <= now) AS expired,
  EXISTS (SELECT FROM claimcheck.scheduled WHERE due <= now) AS due,
  EXISTS (SELECT FROM claimcheck.leases WHERE hard_stop <= now - 2 * :grace_ms::bigint) AS overdue,
  EXISTS (SELECT FROM claimcheck.idempotency WHERE open_at <= now - :idempotency_ms::bigint) AS forgotten,
  :reap::boolean AND (
    EXISTS (SELECT FROM claimcheck.sessions WHERE reaped_at IS NOT NULL OR expires_at <= now)
    OR EXISTS (
      SELECT FROM claimcheck.leases l
      WHERE NOT EXISTS (SELECT FROM claimcheck.sessions s WHERE s.session = l.session)
    )
  ) AS silent
FROM claimcheck.now_ms() AS now;

-- name: expired
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision, j.event_count,
  NULL AS token, NULL AS session, NULL AS worker, NULL AS since, r.now
FROM (
  SELECT r.job, now FROM claimcheck.now_ms() AS now CROSS JOIN LATERAL (
    SELECT job FROM claimcheck.ready WHERE deadline_at <= now ORDER BY deadline_at LIMIT :limit::bigint
  ) r
) r JOIN claimcheck.jobs j ON j.number = r.job;

-- name: overdue
-- An attempt's own worker settles it one grace after its hard stop; the sweep waits for a second one, so that it does not
-- overtake a settlement that is on its way.
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision, j.event_count,
  l.token, l.session, l.worker, l.since, now
FROM claimcheck.now_ms() AS now
JOIN claimcheck.leases l ON l.hard_stop <= now - 2 * :grace_ms::bigint
JOIN claimcheck.jobs j ON j.number = l.job
LIMIT :limit::bigint;

-- name: held
-- One time for all: they are moved together, and one that were due a millisecond later would wait elsewhere than its record says.
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision, j.event_count,
  l.token, l.session, l.worker, l.since, now
FROM claimcheck.now_ms() AS now
CROSS JOIN claimcheck.leases l
JOIN claimcheck.jobs j ON j.number = l.job
WHERE l.session = :session
LIMIT :limit::bigint;

-- name: silent
-- The longest silent session, marked. A lease whose session has no row counts as one that is marked.
WITH longest AS (
  SELECT session FROM claimcheck.sessions
  WHERE reaped_at IS NOT NULL OR expires_at <= claimcheck.now_ms()
  ORDER BY expires_at LIMIT 1
), marked AS (
  UPDATE claimcheck.sessions s SET reaped_at = claimcheck.now_ms() FROM longest g
  WHERE s.session = g.session AND s.reaped_at IS NULL AND s.expires_at <= claimcheck.now_ms()
  RETURNING s.session
)
SELECT session FROM marked
UNION ALL SELECT s.session FROM claimcheck.sessions s JOIN longest g ON g.session = s.session WHERE s.reaped_at IS NOT NULL
UNION ALL SELECT l.session FROM claimcheck.leases l
  WHERE NOT EXISTS (SELECT FROM claimcheck.sessions s WHERE s.session = l.session)
LIMIT 1;

-- name: reap
UPDATE claimcheck.sessions SET reaped_at = claimcheck.now_ms() WHERE session = :session AND reaped_at IS NULL;

-- name: forgetSession
WITH gone AS (
  DELETE FROM claimcheck.sessions s
  WHERE s.session = :session AND s.reaped_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM claimcheck.leases l WHERE l.session = s.session)
  RETURNING s.session
)
DELETE FROM claimcheck.revocations r USING gone g WHERE r.session = g.session;

-- name: forgetKeys
-- A key goes a time after the last of its jobs has ended; until then it is known that it was open at least so long.
WITH old AS MATERIALIZED (
  SELECT i.ctid AS place_in_table, i.jobs, now FROM claimcheck.now_ms() AS now CROSS JOIN claimcheck.idempotency i
  WHERE i.open_at <= now - :idempotency_ms::bigint
  ORDER BY i.open_at LIMIT :limit::bigint FOR UPDATE OF i SKIP LOCKED
), ends AS MATERIALIZED (
  SELECT o.place_in_table, e.open_at, e.open_at <= o.now - :idempotency_ms::bigint AS over
  FROM old o CROSS JOIN LATERAL (
    SELECT CASE WHEN count(*) = count(j.finished_at) THEN coalesce(max(j.finished_at), 0) ELSE o.now END AS open_at
    FROM claimcheck.jobs j WHERE j.number = ANY (o.jobs) OFFSET 0
  ) e
), gone AS (
  DELETE FROM claimcheck.idempotency WHERE ctid = ANY (ARRAY(SELECT place_in_table FROM ends WHERE over))
), kept AS (
  UPDATE claimcheck.idempotency i SET open_at = e.open_at FROM ends e WHERE i.ctid = e.place_in_table AND NOT e.over
)
SELECT FROM ends;

-- name: nextDue
SELECT greatest(0, min(due) - claimcheck.now_ms()) AS due_ms, min(due) AS due FROM claimcheck.scheduled;
