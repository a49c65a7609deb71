-- name: held
SELECT j.number, j.id, j.lane, j.status, j.priority, j.place, j.attempt, j.used, j.replays,
  j.timeout_ms, j.max_attempts, j.deadline_at, j.deadline_ms, j.keyed, j.decision, j.event_count,
  l.token, l.session, l.worker, l.since, claimcheck.now_ms() AS now
FROM unnest(string_to_array(:ids, E'\x1e', ''), :tokens::bigint[]) AS s(id, token)
JOIN claimcheck.jobs j ON j.id = s.id
JOIN claimcheck.leases l ON l.job = j.number AND l.token = s.token;

-- name: progress
UPDATE claimcheck.leases
SET progress = concat('{"fraction":', :fraction::text, ',"note":', :note::text, ',"at":', claimcheck.now_ms(), '}')
WHERE token = :token::bigint AND job = (SELECT number FROM claimcheck.jobs WHERE id = :id);
