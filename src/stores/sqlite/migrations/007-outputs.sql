-- The bytes of a small output, beside the record that names it: its URI and media type are there, and it needs no key but the
-- job's number. Outputs that were written before this version are in `blobs`, with other artifacts and evidence.
CREATE TABLE outputs (job INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
