-- name: touch
UPDATE claimcheck.pings SET at = claimcheck.now_ms();
