-- A small output is kept with its job's record, whose `artifact` says what it is: in `blobs` it was a row of its own with a long key,
-- a quarter of what a settlement took. Those that are there stay there.
ALTER TABLE claimcheck.jobs ADD COLUMN output bytea;
