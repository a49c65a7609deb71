-- name: add
INSERT INTO claimcheck.uploads (ref, tenant, sha256, bytes, media_type, file_name)
VALUES (:ref, :tenant, :sha256, :bytes::bigint, :media_type, :file_name)
ON CONFLICT (ref) DO NOTHING;

-- name: find
SELECT ref, tenant, sha256, bytes, media_type, file_name FROM claimcheck.uploads WHERE ref = :ref AND tenant = :tenant;
