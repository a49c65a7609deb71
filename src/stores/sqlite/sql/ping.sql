-- name: touch
UPDATE counters SET value = :now WHERE name = 'ping';
