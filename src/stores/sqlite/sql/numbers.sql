-- name: last
SELECT value FROM counters WHERE name = :name;

-- name: set
UPDATE counters SET value = :value WHERE name = :name;

-- name: raise
UPDATE counters SET value = max(value, :least) WHERE name = :name;
