-- An output that is too long for its job's record, under its job's number: numbers grow, so their index is written at its end, and the
-- record's `artifact` says what it is. Outputs that were written before this version are in `blobs`, with other artifacts and evidence.
CREATE TABLE claimcheck.outputs (job bigint PRIMARY KEY, bytes bytea NOT NULL);
