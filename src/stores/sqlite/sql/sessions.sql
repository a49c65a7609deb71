-- name: elsewhere
SELECT worker, host FROM sessions
WHERE host <> :host AND reaped_at IS NULL AND expires_at > :now
LIMIT 1;

-- name: find
SELECT session, lease_ms, expires_at, reaped_at, claims_after FROM sessions WHERE session = :session;

-- name: open
INSERT INTO sessions (session, worker, host, lease_ms, expires_at)
VALUES (:session, :worker, :host, :lease_ms, :expires_at)
ON CONFLICT (session) DO UPDATE SET lease_ms = :lease_ms, expires_at = :expires_at WHERE reaped_at IS NULL;

-- name: extend
UPDATE sessions SET expires_at = lease_ms + :now WHERE session = :session AND reaped_at IS NULL;

-- name: revoked
SELECT job_id, token FROM revocations WHERE session = :session;

-- name: forgetHeard
DELETE FROM revocations WHERE session = :session AND token = :token;

-- name: closeClaims
UPDATE sessions SET claims_after = :serial WHERE session = :session AND reaped_at IS NULL;

-- name: forgetRevoked
DELETE FROM revocations WHERE session = :session;

-- name: holdsLease
SELECT 1 AS held FROM leases WHERE session = :session LIMIT 1;

-- name: close
DELETE FROM sessions WHERE session = :session;
