-- Each live state is a noun with a table of its own: `ready` and `scheduled` hold what waits, `leases` what runs,
-- `decisions` what died. `jobs` is the record of them all; it is written at acceptance and then once an attempt, at
-- its end. Instants are milliseconds since 1970 by the store's clock.
--
-- Free text (labels, idempotency keys, names given by people) is kept as JSON text, because a bound string ends at its
-- first U+0000 and loses lone surrogates. `events` and `errors` hold one JSON object a line.

-- One row each number that is handed out: job numbers and lease tokens come from here and are never used twice.
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('token', 0), ('job', 0), ('ping', 0);

-- What jobs have in common that one worker may claim together, for one tenant. A job names its lane, and so its tenant.
CREATE TABLE lanes (
  lane INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  workflow TEXT NOT NULL,
  version TEXT NOT NULL,
  output_schema_sha256 TEXT NOT NULL,
  UNIQUE (workflow, version, output_schema_sha256, tenant)
);
CREATE INDEX lanes_by_tenant ON lanes (tenant, workflow);

-- A job whose attempt is under way still says `queued` here: its row in `leases` makes it running, and is its `running`
-- event, its next attempt and the one more of its budget that is used.
CREATE TABLE jobs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  lane INTEGER NOT NULL,
  status TEXT NOT NULL,
  priority INTEGER NOT NULL,
  place INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  used INTEGER NOT NULL,
  replays INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  deadline_ms INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  keyed INTEGER NOT NULL,
  event_count INTEGER NOT NULL,
  events TEXT NOT NULL,
  errors TEXT NOT NULL,
  artifact TEXT,
  artifacts TEXT,
  decision TEXT
);
CREATE INDEX jobs_by_lane ON jobs (lane);

-- What was asked for. Apart from `jobs`, so that the end of an attempt does not write a large input again.
CREATE TABLE requests (
  job INTEGER PRIMARY KEY,
  input TEXT NOT NULL,
  input_ref TEXT,
  input_sha256 TEXT NOT NULL,
  labels TEXT
);

-- Queued jobs that may be claimed now, in exactly the order in which they are: a claim reads a lane from its start.
CREATE TABLE ready (
  lane INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  place INTEGER NOT NULL,
  job INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  PRIMARY KEY (lane, priority DESC, place, job)
) WITHOUT ROWID;
CREATE INDEX ready_by_deadline ON ready (deadline_at);

-- Queued jobs that wait for their time.
CREATE TABLE scheduled (
  due INTEGER NOT NULL,
  job INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  deadline_at INTEGER NOT NULL,
  PRIMARY KEY (due, job)
) WITHOUT ROWID;

-- Who runs what. As small as the work in flight, so the sweep reads it whole, and it needs no index but its key.
CREATE TABLE leases (
  job INTEGER PRIMARY KEY,
  token INTEGER NOT NULL,
  session TEXT NOT NULL,
  worker TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  since INTEGER NOT NULL,
  hard_stop INTEGER NOT NULL,
  progress TEXT
);

-- One row a boot of a worker. `reaped_at` is set before its leases are recovered, and is never taken back.
CREATE TABLE sessions (
  session TEXT PRIMARY KEY,
  worker TEXT NOT NULL,
  host TEXT NOT NULL,
  lease_ms INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  reaped_at INTEGER
) WITHOUT ROWID;

-- Attempts that were taken away from a session, until its next renewal has read them.
CREATE TABLE revocations (
  session TEXT NOT NULL,
  token INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  PRIMARY KEY (session, token)
) WITHOUT ROWID;

-- Dead letters: what a person has to decide about, and the error that a status shows.
CREATE TABLE decisions (
  job INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  code TEXT NOT NULL,
  error TEXT NOT NULL
);
CREATE INDEX decisions_by_code ON decisions (tenant, code);

CREATE TABLE labels (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  job INTEGER NOT NULL,
  PRIMARY KEY (tenant, name, value, job)
) WITHOUT ROWID;

-- `ended_at` is null while the job is under way: its key is kept for a time after its end.
CREATE TABLE idempotency (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  request_sha256 TEXT NOT NULL,
  job INTEGER NOT NULL UNIQUE,
  job_id TEXT NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_end ON idempotency (ended_at) WHERE ended_at IS NOT NULL;

-- Small artifacts and evidence, written with the settlement that refers to them.
CREATE TABLE blobs (uri TEXT NOT NULL UNIQUE, media_type TEXT NOT NULL, bytes BLOB NOT NULL);

CREATE TABLE uploads (
  ref TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  media_type TEXT NOT NULL,
  file_name TEXT
) WITHOUT ROWID;

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  secret_sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) WITHOUT ROWID;
CREATE INDEX api_keys_by_tenant ON api_keys (tenant, created_at);
