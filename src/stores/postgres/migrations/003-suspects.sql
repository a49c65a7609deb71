-- Jobs that were lost with their worker wait in lanes of their own, by how often that was so.
ALTER TABLE claimcheck.lanes ADD COLUMN suspicion integer NOT NULL DEFAULT 0;
ALTER TABLE claimcheck.lanes DROP CONSTRAINT lanes_workflow_version_output_schema_sha256_tenant_key;
ALTER TABLE claimcheck.lanes ADD UNIQUE (workflow, version, output_schema_sha256, tenant, suspicion);
