-- name: add
INSERT INTO claimcheck.api_keys (id, tenant, name, scopes, secret_sha256, created_at)
VALUES (:id, :tenant, :name, :scopes, :secret_sha256, claimcheck.now_ms());

-- name: find
SELECT id, tenant, name, scopes, secret_sha256, created_at, revoked_at FROM claimcheck.api_keys WHERE id = :id;

-- name: list
SELECT id, tenant, name, scopes, secret_sha256, created_at, revoked_at FROM claimcheck.api_keys
WHERE tenant = :tenant ORDER BY created_at, id;

-- name: revoke
UPDATE claimcheck.api_keys SET revoked_at = claimcheck.now_ms() WHERE id = :id AND tenant = :tenant AND revoked_at IS NULL;
