-- Calls to models, and the money they cost. Money is in whole nano-dollars.
ALTER TABLE claimcheck.jobs ADD COLUMN spending_limit bigint;

-- A row is there before its call is made. `billing` is `unknown` until its end or a person says otherwise: that the call is still
-- under way shows in the lease, whose token it has. `place` counts the calls of an attempt, `n` those of the job.
CREATE TABLE claimcheck.model_calls (
  job bigint NOT NULL,
  token bigint NOT NULL,
  started_at bigint NOT NULL,
  reserved bigint NOT NULL,
  n integer NOT NULL,
  attempt integer NOT NULL,
  place integer NOT NULL,
  reused_from integer,
  workflow text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  opening text COLLATE "C" NOT NULL,
  ended_at bigint,
  cost bigint,
  settled_at bigint,
  billing text COLLATE "C" NOT NULL DEFAULT 'unknown',
  ended text COLLATE "C",
  response text COLLATE "C",
  settled_by text COLLATE "C",
  PRIMARY KEY (job, n),
  CONSTRAINT model_calls_place UNIQUE (job, token, place)
);
CREATE INDEX model_calls_unknown ON claimcheck.model_calls (started_at, job, n) WHERE billing = 'unknown';

-- What was spent and what is held, with the number of calls: of a job (`name` is its id, `day` is empty), of a workflow on a
-- day, of the deployment on a day (`name` is empty). A call is counted in three of them, and each is written twice for it, the
-- day's by every call there is: so most of a page is kept free, and its updates stay on it (HOT).
CREATE TABLE claimcheck.spending (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  spent bigint NOT NULL DEFAULT 0,
  reserved bigint NOT NULL DEFAULT 0,
  calls bigint NOT NULL DEFAULT 0,
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  UNIQUE (day, scope, name)
) WITH (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

-- Limits that persons set; nothing is ever changed here, and the last one of a name counts. No amount: no limit.
CREATE TABLE claimcheck.spending_limits (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  amount bigint,
  at bigint NOT NULL,
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL
);
CREATE INDEX spending_limits_by_name ON claimcheck.spending_limits (scope, name, number);

-- Until when a provider wants to be left alone, and the workflows whose jobs wait for it in this pause. A later pause
-- takes the row.
CREATE TABLE claimcheck.provider_pauses (
  until bigint NOT NULL,
  provider text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  workflows text[] COLLATE "C" NOT NULL DEFAULT '{}',
  PRIMARY KEY (provider, account, model)
);

-- The day in which an instant lies, in UTC.
CREATE FUNCTION claimcheck.utc_day(at_ms bigint) RETURNS text LANGUAGE sql STABLE
  AS $$ SELECT to_char(to_timestamp(at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') $$;
