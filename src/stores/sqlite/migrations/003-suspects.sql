-- Jobs that were lost with their worker wait in lanes of their own, by how often that was so.
CREATE TABLE wider_lanes (
  lane INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  workflow TEXT NOT NULL,
  version TEXT NOT NULL,
  output_schema_sha256 TEXT NOT NULL,
  suspicion INTEGER NOT NULL DEFAULT 0,
  UNIQUE (workflow, version, output_schema_sha256, tenant, suspicion)
);
INSERT INTO wider_lanes (lane, tenant, workflow, version, output_schema_sha256)
SELECT lane, tenant, workflow, version, output_schema_sha256 FROM lanes;
DROP TABLE lanes;
ALTER TABLE wider_lanes RENAME TO lanes;
CREATE INDEX lanes_by_tenant ON lanes (tenant, workflow);
