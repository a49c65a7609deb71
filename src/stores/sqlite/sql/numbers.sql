-- name: take
UPDATE counters SET value = value + :count WHERE name = :name RETURNING value;
