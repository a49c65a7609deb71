-- name: add
INSERT INTO blobs (uri, media_type, bytes) VALUES (:uri, :media_type, :bytes);

-- name: same
SELECT 1 AS same FROM blobs WHERE uri = :uri AND media_type = :media_type AND bytes = :bytes;

-- name: find
SELECT uri, media_type, bytes FROM blobs WHERE uri = :uri;

-- name: addOutput
INSERT INTO outputs (job, bytes) VALUES (:job, :bytes);

-- name: output
SELECT j.artifact, o.bytes FROM jobs j CROSS JOIN outputs o ON o.job = j.number WHERE j.id = :id;
