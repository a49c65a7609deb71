-- Calls to models, and the money they cost. Money is in whole nano-dollars.
ALTER TABLE jobs ADD COLUMN spending_limit INTEGER;

-- A row is there before its call is made. `billing` is `unknown` until its end or a person says otherwise: that the call is still
-- under way shows in the lease, whose token it has. `place` counts the calls of an attempt, `n` those of the job.
CREATE TABLE model_calls (
  job INTEGER NOT NULL,
  n INTEGER NOT NULL,
  token INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  place INTEGER NOT NULL,
  workflow TEXT NOT NULL,
  day TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  opening TEXT NOT NULL,
  reused_from INTEGER,
  ended_at INTEGER,
  ended TEXT,
  response TEXT,
  billing TEXT NOT NULL DEFAULT 'unknown',
  cost INTEGER,
  settled_by TEXT,
  settled_at INTEGER,
  PRIMARY KEY (job, n),
  UNIQUE (job, token, place)
) WITHOUT ROWID;
CREATE INDEX model_calls_unknown ON model_calls (started_at) WHERE billing = 'unknown';

-- What was spent and what is held, with the number of calls: of a job (`name` is its id, `day` is empty), of a workflow on a
-- day, of the deployment on a day (`name` is empty). A call is counted in three of them.
CREATE TABLE spending (
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  day TEXT NOT NULL,
  spent INTEGER NOT NULL DEFAULT 0,
  reserved INTEGER NOT NULL DEFAULT 0,
  calls INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (day, scope, name)
) WITHOUT ROWID;

-- Limits that persons set; nothing is ever changed here, and the last one of a name counts. No amount: no limit.
CREATE TABLE spending_limits (
  number INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  amount INTEGER,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
);
CREATE INDEX spending_limits_by_name ON spending_limits (scope, name, number);

-- Until when a provider wants to be left alone, and the workflows whose jobs wait for it in this pause. A later pause
-- takes the row.
CREATE TABLE provider_pauses (
  provider TEXT NOT NULL,
  account TEXT NOT NULL,
  model TEXT NOT NULL,
  until INTEGER NOT NULL,
  workflows TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (provider, account, model)
) WITHOUT ROWID;
