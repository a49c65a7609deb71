-- name: queuedJob
SELECT number, id, lane, status, priority, place, attempt, used, replays,
  timeout_ms, max_attempts, deadline_at, deadline_ms, decision,
  NULL AS token, NULL AS session, NULL AS worker, NULL AS since
FROM jobs WHERE number = :number;

-- name: write
UPDATE jobs SET
  status = :status, place = :place, attempt = :attempt, used = :used, replays = :replays,
  updated_at = :now, started_at = coalesce(started_at, :started_at), finished_at = :finished_at,
  event_count = event_count + :event_count, events = events || :events, errors = errors || :errors,
  decision = :decision
WHERE number = :number;

-- name: complete
-- The one move that brings artifacts, and most are it: what it leaves as it was is not written.
UPDATE jobs SET
  status = 'completed', attempt = :attempt, used = :used,
  updated_at = :now, started_at = coalesce(started_at, :started_at), finished_at = :now,
  event_count = event_count + :event_count, events = events || :events,
  artifact = :artifact, artifacts = :artifacts
WHERE number = :number;

-- name: changeLane
UPDATE jobs SET lane = :lane WHERE number = :number;

-- name: renewLimits
UPDATE jobs SET
  timeout_ms = :timeout_ms, max_attempts = :max_attempts, deadline_at = :deadline_at, deadline_ms = :deadline_ms
WHERE number = :number;

-- name: limitSpending
UPDATE jobs SET spending_limit = :spending_limit WHERE number = :number;

-- name: endLease
DELETE FROM leases WHERE job = :job AND token = :token;

-- name: endLeases
-- A token is one job's, so that both lists together name pairs.
DELETE FROM leases WHERE job IN (SELECT value FROM json_each(:jobs)) AND token IN (SELECT value FROM json_each(:tokens));

-- name: endSomeLeases
DELETE FROM leases WHERE job IN (SELECT value FROM json_each(:jobs)) AND token IN (SELECT value FROM json_each(:tokens))
RETURNING token;

-- name: revoke
INSERT INTO revocations (session, token, job_id) VALUES (:session, :token, :job_id);

-- name: addReady
INSERT INTO ready (lane, priority, place, job, deadline_at)
VALUES (:lane, :priority, :place, :job, :deadline_at);

-- name: addScheduled
INSERT INTO scheduled (due, job, lane, priority, deadline_at)
VALUES (:due, :job, :lane, :priority, :deadline_at);

-- name: dropReady
DELETE FROM ready WHERE lane = :lane AND priority = :priority AND place = :place AND job = :job;

-- name: dropScheduled
DELETE FROM scheduled WHERE due = :due AND job = :job;

-- name: ask
INSERT INTO decisions (job, tenant, code, error) VALUES (:job, :tenant, :code, :error);

-- name: answer
DELETE FROM decisions WHERE job = :job;
