-- name: add
INSERT INTO api_keys (id, tenant, name, scopes, secret_sha256, created_at)
VALUES (:id, :tenant, :name, :scopes, :secret_sha256, :created_at);

-- name: find
SELECT id, tenant, name, scopes, secret_sha256, created_at, revoked_at FROM api_keys WHERE id = :id;

-- name: list
SELECT id, tenant, name, scopes, secret_sha256, created_at, revoked_at FROM api_keys
WHERE tenant = :tenant ORDER BY created_at, id;

-- name: revoke
UPDATE api_keys SET revoked_at = :now WHERE id = :id AND tenant = :tenant AND revoked_at IS NULL;
