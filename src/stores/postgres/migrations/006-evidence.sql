-- Whether bytes may be left of a call's response: what a retention of evidence looks for.
ALTER TABLE claimcheck.model_calls ADD COLUMN kept boolean NOT NULL DEFAULT true;
CREATE INDEX model_calls_kept ON claimcheck.model_calls (started_at, job, n) WHERE kept AND response IS NOT NULL;
