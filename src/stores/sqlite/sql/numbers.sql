-- name: take
UPDATE counters SET value = value + :count WHERE name = :name RETURNING value;

-- name: raise
UPDATE counters SET value = max(value, :least) WHERE name = :name;
