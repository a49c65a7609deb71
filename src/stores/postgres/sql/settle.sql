-- name: now
SELECT claimcheck.now_ms() AS now;

-- name: held
WITH c AS MATERIALIZED (SELECT claimcheck.now_ms() AS now)
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.decision, j.event_count,
  l.token, l.session, l.worker, l.since, c.now
FROM c CROSS JOIN claimcheck.jobs j
CROSS JOIN LATERAL (
  SELECT l.token, l.session, l.worker, l.since FROM claimcheck.leases l WHERE l.job = j.number OFFSET 0
) l
WHERE j.id = ANY (string_to_array(:ids, E'\x1e', ''));

-- name: progress
UPDATE claimcheck.leases
SET progress = concat('{"fraction":', :fraction::text, ',"note":', :note::text, ',"at":', claimcheck.now_ms(), '}')
WHERE token = :token::bigint AND job = (SELECT number FROM claimcheck.jobs WHERE id = :id);
