-- name: byNumber
SELECT lane, tenant, workflow, version, output_schema_sha256 FROM lanes WHERE lane = :lane;

-- name: find
SELECT lane, tenant, workflow, version, output_schema_sha256 FROM lanes
WHERE workflow = :workflow AND version = :version AND output_schema_sha256 = :output_schema_sha256
  AND tenant = :tenant;

-- name: add
INSERT INTO lanes (tenant, workflow, version, output_schema_sha256)
VALUES (:tenant, :workflow, :version, :output_schema_sha256)
RETURNING lane, tenant, workflow, version, output_schema_sha256;
