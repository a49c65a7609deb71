-- name: findKey
SELECT job_id, request_sha256 FROM idempotency WHERE tenant = :tenant AND name = :name;

-- name: addJob
INSERT INTO jobs (number, id, lane, status, priority, place, attempt, used, replays,
  timeout_ms, max_attempts, deadline_at, deadline_ms, run_at, created_at, updated_at, keyed,
  event_count, events, errors)
VALUES (:number, :id, :lane, 'queued', :priority, :place, 0, 0, 0,
  :timeout_ms, :max_attempts, :deadline_at, :deadline_ms, :run_at, :now, :now, :keyed,
  1, :events, '');

-- name: addRequest
INSERT INTO requests (job, input, input_ref, input_sha256, labels)
VALUES (:job, :input, :input_ref, :input_sha256, :labels);

-- name: addLabel
INSERT INTO labels (tenant, name, value, job) VALUES (:tenant, :name, :value, :job);

-- name: addKey
INSERT INTO idempotency (tenant, name, request_sha256, job, job_id)
VALUES (:tenant, :name, :request_sha256, :job, :job_id);
