-- The claims of a session are counted. Those up to this one get nothing any more: their worker has given up waiting for
-- their answers.
ALTER TABLE sessions ADD COLUMN claims_after INTEGER NOT NULL DEFAULT 0;
