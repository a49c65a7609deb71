-- name: byNumber
SELECT lane, tenant, workflow, version, output_schema_sha256, suspicion FROM lanes WHERE lane = :lane;

-- name: find
SELECT lane, tenant, workflow, version, output_schema_sha256, suspicion FROM lanes
WHERE workflow = :workflow AND version = :version AND output_schema_sha256 = :output_schema_sha256
  AND tenant = :tenant AND suspicion = :suspicion;

-- name: add
INSERT INTO lanes (tenant, workflow, version, output_schema_sha256, suspicion)
VALUES (:tenant, :workflow, :version, :output_schema_sha256, :suspicion)
RETURNING lane, tenant, workflow, version, output_schema_sha256, suspicion;
