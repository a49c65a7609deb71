-- The claims of a session are counted. Those up to this one get nothing any more: their worker has given up waiting for
-- their answers, and one of them may still be on its way.
ALTER TABLE claimcheck.sessions ADD COLUMN claims_after bigint NOT NULL DEFAULT 0;

-- Puts the tokens to come behind the clock, which no token of the past can have reached. A database that goes back in
-- time (restored from a backup, or a standby that took over without the last commits) would else give tokens again that
-- it gave before, to attempts that may still be under way and to artifacts whose files are still there. Whoever opens a
-- session, or was not answered, calls this before it claims. One at a time: of two at once the slower would take it back.
-- It has its owner's rights, since USAGE of a sequence does not allow to set it.
CREATE FUNCTION claimcheck.raise_tokens() RETURNS void LANGUAGE sql VOLATILE
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pg_advisory_xact_lock(1668050275, 'claimcheck.lease_tokens'::regclass::oid::integer);
  SELECT setval('claimcheck.lease_tokens', now * 1000)
  FROM (SELECT claimcheck.now_ms() AS now) AS clock, claimcheck.lease_tokens
  WHERE last_value < (now - 100) * 1000;
$$;
