-- name: findKey
SELECT request_sha256, (
  SELECT group_concat(id, ' ' ORDER BY number) FROM jobs WHERE number BETWEEN first_job AND last_job
) AS job_ids
FROM idempotency WHERE tenant = :tenant AND name = :name;

-- name: addJob
INSERT INTO jobs (number, id, lane, status, priority, place, attempt, used, replays,
  timeout_ms, max_attempts, deadline_at, deadline_ms, run_at, created_at, updated_at,
  event_count, events, errors, spending_limit)
VALUES (:number, :id, :lane, 'queued', :priority, :place, 0, 0, 0,
  :timeout_ms, :max_attempts, :deadline_at, :deadline_ms, :run_at, :now, :now,
  1, :events, '', :spending_limit);

-- name: addRequest
INSERT INTO requests (job, input, input_ref, input_sha256, labels)
VALUES (:job, :input, :input_ref, :input_sha256, :labels);

-- name: addLabel
INSERT INTO labels (tenant, name, value, job) VALUES (:tenant, :name, :value, :job);

-- name: addKey
INSERT INTO idempotency (tenant, name, request_sha256, first_job, last_job, open_at)
VALUES (:tenant, :name, :request_sha256, :first_job, :last_job, :now);

-- name: queueNow
INSERT INTO ready (lane, priority, place, job, deadline_at)
SELECT lane, priority, place, number, deadline_at FROM jobs WHERE number BETWEEN :first AND :last AND run_at <= :now;

-- name: queueLater
INSERT INTO scheduled (due, job, lane, priority, deadline_at)
SELECT run_at, number, lane, priority, deadline_at FROM jobs WHERE number BETWEEN :first AND :last AND run_at > :now;
