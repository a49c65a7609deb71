-- name: byNumbers
SELECT lane, tenant, workflow, version, output_schema_sha256, suspicion
FROM claimcheck.lanes WHERE lane = ANY (:lanes::integer[]);

-- name: find
SELECT lane, tenant, workflow, version, output_schema_sha256, suspicion FROM claimcheck.lanes
WHERE workflow = :workflow AND version = :version AND output_schema_sha256 = :output_schema_sha256
  AND tenant = :tenant AND suspicion = :suspicion;

-- name: add
INSERT INTO claimcheck.lanes (tenant, workflow, version, output_schema_sha256, suspicion)
VALUES (:tenant, :workflow, :version, :output_schema_sha256, :suspicion)
ON CONFLICT DO NOTHING
RETURNING lane, tenant, workflow, version, output_schema_sha256, suspicion;
