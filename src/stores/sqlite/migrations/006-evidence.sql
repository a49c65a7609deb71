-- Whether bytes may be left of a call's response: what a retention of evidence looks for.
ALTER TABLE model_calls ADD COLUMN kept INTEGER NOT NULL DEFAULT 1;
CREATE INDEX model_calls_kept ON model_calls (started_at) WHERE kept = 1 AND response IS NOT NULL;
