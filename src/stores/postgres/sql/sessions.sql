-- name: open
INSERT INTO claimcheck.sessions AS s (session, worker, host, lease_ms, expires_at)
VALUES (:session, :worker, :host, :lease_ms::bigint, claimcheck.now_ms() + :lease_ms::bigint)
ON CONFLICT (session) DO UPDATE SET lease_ms = excluded.lease_ms, expires_at = excluded.expires_at
WHERE s.reaped_at IS NULL;

-- name: raiseTokens
SELECT claimcheck.raise_tokens();

-- name: renew
WITH extended AS (
  UPDATE claimcheck.sessions SET expires_at = lease_ms + claimcheck.now_ms()
  WHERE session = :session AND reaped_at IS NULL RETURNING session
), heard AS (
  DELETE FROM claimcheck.revocations r USING extended e
  WHERE r.session = e.session AND r.token = ANY (:heard::bigint[])
)
SELECT r.job_id, r.token FROM extended e
LEFT JOIN claimcheck.revocations r ON r.session = e.session AND r.token <> ALL (:heard::bigint[]);

-- name: closeClaims
-- A claim that is under way holds the session's row, so this waits for it; one that comes later finds itself ruled out.
UPDATE claimcheck.sessions SET claims_after = :serial WHERE session = :session AND reaped_at IS NULL;

-- name: close
WITH closed AS (
  DELETE FROM claimcheck.sessions s
  WHERE s.session = :session AND NOT EXISTS (SELECT FROM claimcheck.leases l WHERE l.session = s.session)
  RETURNING s.session
)
DELETE FROM claimcheck.revocations r USING closed c WHERE r.session = c.session;
