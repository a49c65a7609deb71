-- Each live state is a noun with a table of its own: `ready` and `scheduled` hold what waits, `leases` what runs,
-- `decisions` what died. Taking a job's row out of its table is what entitles a transaction to move it, so of several
-- that want to, one does. `jobs` is the record of them all; it is written at acceptance and then once an attempt.
-- Instants are milliseconds since 1970 by the database's clock.
--
-- Free text (labels, idempotency keys, names given by people) is kept as JSON text, because PostgreSQL's text cannot
-- hold U+0000 or lone surrogates. `events` and `errors` hold one JSON object a line.

-- The only clock: whatever is due, leased or dead is so by this one.
CREATE FUNCTION claimcheck.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
  AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

-- Handed out one by one (never cached by a session, which would let a later claim get a smaller token).
CREATE SEQUENCE claimcheck.job_numbers AS bigint CACHE 1;
CREATE SEQUENCE claimcheck.lease_tokens AS bigint CACHE 1;

-- What jobs have in common that one worker may claim together, for one tenant. A job names its lane, and so its tenant.
CREATE TABLE claimcheck.lanes (
  lane integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  output_schema_sha256 text COLLATE "C" NOT NULL,
  UNIQUE (workflow, version, output_schema_sha256, tenant)
);
CREATE INDEX lanes_by_tenant ON claimcheck.lanes (tenant, workflow);

-- A job whose attempt is under way still says `queued` here: its row in `leases` makes it running, and is its `running`
-- event, its next attempt and the one more of its budget that is used.
--
-- What never changes stands first and what changes last, so that an update logs little of the row. No index is on a
-- column that changes with an attempt, and two thirds of a page are kept free at first, since a record that ended is twice
-- as long as one that was accepted: so its update stays on its page (HOT).
CREATE TABLE claimcheck.jobs (
  number bigint PRIMARY KEY,
  created_at bigint NOT NULL,
  run_at bigint NOT NULL,
  lane integer NOT NULL,
  priority integer NOT NULL,
  keyed boolean NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE,
  input_sha256 text COLLATE "C" NOT NULL,
  input_ref text COLLATE "C",
  labels text COLLATE "C",
  input text COLLATE "C" NOT NULL,
  timeout_ms bigint NOT NULL,
  deadline_ms bigint NOT NULL,
  deadline_at bigint NOT NULL,
  max_attempts integer NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  used integer NOT NULL DEFAULT 0,
  replays integer NOT NULL DEFAULT 0,
  event_count integer NOT NULL DEFAULT 1,
  place bigint NOT NULL,
  updated_at bigint NOT NULL,
  started_at bigint,
  finished_at bigint,
  status text COLLATE "C" NOT NULL DEFAULT 'queued',
  events text COLLATE "C" NOT NULL,
  errors text COLLATE "C" NOT NULL DEFAULT '',
  artifact text COLLATE "C",
  artifacts text COLLATE "C",
  decision text COLLATE "C"
) WITH (fillfactor = 33, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX jobs_by_lane ON claimcheck.jobs (lane, number);

-- Queued jobs that may be claimed now. The key is exactly the claim's order: `rank` is the priority turned round, so
-- that one ascending scan of a lane finds the most urgent first.
CREATE TABLE claimcheck.ready (
  lane integer NOT NULL,
  rank integer NOT NULL,
  place bigint NOT NULL,
  job bigint NOT NULL,
  deadline_at bigint NOT NULL,
  PRIMARY KEY (lane, rank, place, job)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX ready_by_deadline ON claimcheck.ready (deadline_at);

-- Queued jobs that wait for their time.
CREATE TABLE claimcheck.scheduled (
  due bigint NOT NULL,
  job bigint NOT NULL,
  lane integer NOT NULL,
  rank integer NOT NULL,
  deadline_at bigint NOT NULL,
  PRIMARY KEY (due, job)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Who runs what. As small as the work in flight, so the sweep reads it whole, and it needs no index but its key.
CREATE TABLE claimcheck.leases (
  job bigint PRIMARY KEY,
  token bigint NOT NULL,
  since bigint NOT NULL,
  hard_stop bigint NOT NULL,
  attempt integer NOT NULL,
  session text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  progress text COLLATE "C"
) WITH (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);

-- One row a boot of a worker. `reaped_at` is set before its leases are recovered, and is never taken back.
CREATE TABLE claimcheck.sessions (
  session text COLLATE "C" PRIMARY KEY,
  worker text COLLATE "C" NOT NULL,
  host text COLLATE "C" NOT NULL,
  lease_ms bigint NOT NULL,
  expires_at bigint NOT NULL,
  reaped_at bigint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- Attempts that were taken away from a session, until its next renewal has read them.
CREATE TABLE claimcheck.revocations (
  session text COLLATE "C" NOT NULL,
  token bigint NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (session, token)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Dead letters: what a person has to decide about, and the error that a status shows.
CREATE TABLE claimcheck.decisions (
  job bigint PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  error text COLLATE "C" NOT NULL
);
CREATE INDEX decisions_by_code ON claimcheck.decisions (tenant, code, job);

CREATE TABLE claimcheck.labels (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  job bigint NOT NULL,
  PRIMARY KEY (tenant, name, value, job)
);

-- `ended_at` is null while the job is under way: its key is kept for a time after its end.
CREATE TABLE claimcheck.idempotency (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  request_sha256 text COLLATE "C" NOT NULL,
  job bigint NOT NULL UNIQUE,
  job_id text COLLATE "C" NOT NULL,
  ended_at bigint,
  CONSTRAINT idempotency_key PRIMARY KEY (tenant, name)
) WITH (fillfactor = 80);
CREATE INDEX idempotency_by_end ON claimcheck.idempotency (ended_at) WHERE ended_at IS NOT NULL;

-- Small artifacts and evidence, written with the settlement that refers to them.
CREATE TABLE claimcheck.blobs (
  uri text COLLATE "C" CONSTRAINT blobs_uri PRIMARY KEY,
  media_type text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL
);

CREATE TABLE claimcheck.uploads (
  ref text COLLATE "C" PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  media_type text COLLATE "C" NOT NULL,
  file_name text COLLATE "C"
);

CREATE TABLE claimcheck.api_keys (
  id text COLLATE "C" PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  secret_sha256 text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint
);
CREATE INDEX api_keys_by_tenant ON claimcheck.api_keys (tenant, created_at);

-- Written to find out whether the database takes writes.
CREATE TABLE claimcheck.pings (at bigint NOT NULL) WITH (fillfactor = 20);
INSERT INTO claimcheck.pings (at) VALUES (0);
