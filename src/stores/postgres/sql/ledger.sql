-- name: begin
-- The lease is held until the end, so that no reap comes between; then the accounts, workflow before day before job, as
-- in every statement that writes them. What is read of a locked row is its newest version; the job's account may be made
-- here, and is checked as it is written. Whatever is missing, nothing is written at all.
WITH moment AS MATERIALIZED (
  SELECT now, claimcheck.utc_day(now) AS day FROM claimcheck.now_ms() AS now
), held AS MATERIALIZED (
  SELECT j.number AS job, CASE WHEN :limited::boolean THEN j.spending_limit END AS amount
  FROM claimcheck.jobs j JOIN claimcheck.leases l ON l.job = j.number
  WHERE j.id = :id AND l.token = :token::bigint
  FOR SHARE OF l
), known AS MATERIALIZED (
  SELECT c.n FROM held h JOIN claimcheck.model_calls c ON c.job = h.job AND c.token = :token::bigint AND c.place = :place::integer
), paused AS MATERIALIZED (
  SELECT p.until - m.now AS for_ms FROM moment m JOIN claimcheck.provider_pauses p ON p.until > m.now
  WHERE p.provider = :provider AND p.account = :account AND p.model = :model AND :limited::boolean
), accounts AS MATERIALIZED (
  SELECT s.scope, s.name, s.day, s.spent, s.reserved
  FROM held h CROSS JOIN moment m CROSS JOIN (VALUES (1, 'workflow', :workflow::text), (2, 'day', '')) AS w(rank, scope, name)
  JOIN claimcheck.spending s ON s.scope = w.scope AND s.name = w.name AND s.day = m.day
  WHERE NOT EXISTS (SELECT FROM known) AND NOT EXISTS (SELECT FROM paused)
  ORDER BY w.rank FOR UPDATE OF s
), lines AS MATERIALIZED (
  SELECT 1 AS rank, 'job' AS scope, :id::text AS name, '' AS day, h.amount, coalesce(s.spent, 0) AS spent, coalesce(s.reserved, 0) AS reserved
  FROM held h LEFT JOIN claimcheck.spending s ON s.scope = 'job' AND s.name = :id AND s.day = ''
  UNION ALL
  SELECT CASE a.scope WHEN 'workflow' THEN 2 ELSE 3 END, a.scope, a.name, a.day, CASE WHEN :limited::boolean THEN (
      -- What a person said last holds, be it that there is none.
      SELECT t.amount FROM (
        (SELECT amount FROM claimcheck.spending_limits WHERE scope = a.scope AND name = a.name ORDER BY number DESC LIMIT 1)
        UNION ALL
        SELECT CASE a.scope WHEN 'workflow' THEN :workflow_limit::bigint ELSE :day_limit::bigint END
      ) t LIMIT 1
    ) END, a.spent, a.reserved
  FROM accounts a
), fits AS MATERIALIZED (
  SELECT FROM lines HAVING count(*) = 3
    AND bool_and(amount IS NULL OR CASE WHEN scope = 'job' THEN 0 ELSE spent + reserved END + :estimate::bigint <= amount)
), job_account AS (
  INSERT INTO claimcheck.spending AS s (scope, name, day, reserved, calls)
  SELECT 'job', :id, '', :estimate::bigint, 1 FROM fits
  ON CONFLICT (scope, name, day) DO UPDATE SET reserved = s.reserved + excluded.reserved, calls = s.calls + 1
  WHERE coalesce(s.spent + s.reserved + excluded.reserved <= (SELECT amount FROM held), true)
  RETURNING s.calls AS n
), counted AS (
  UPDATE claimcheck.spending s SET reserved = s.reserved + :estimate::bigint, calls = s.calls + 1
  FROM (VALUES ('workflow', :workflow::text), ('day', '')) AS w(scope, name)
  WHERE s.scope = w.scope AND s.name = w.name AND s.day = ANY (ARRAY(SELECT m.day FROM moment m CROSS JOIN job_account))
), written AS (
  INSERT INTO claimcheck.model_calls (
    job, n, token, attempt, place, workflow, day, started_at, reserved, opening, reused_from
  )
  SELECT h.job, a.n, :token::bigint, :attempt::integer, :place::integer, :workflow, m.day, m.now, :estimate::bigint,
    :opening, :reused_from::integer
  FROM job_account a CROSS JOIN held h CROSS JOIN moment m
)
SELECT EXISTS (SELECT FROM held) AS held, coalesce((SELECT n FROM known), (SELECT n FROM job_account)) AS n,
  (SELECT for_ms FROM paused) AS for_ms, l.scope, l.name, l.day, l.amount, l.spent, l.reserved
FROM (SELECT) one LEFT JOIN lines l ON true ORDER BY l.rank;

-- name: open
-- The accounts of today, which a call finds there; a job's own is made by its first call.
INSERT INTO claimcheck.spending (scope, name, day)
SELECT w.scope, w.name, claimcheck.utc_day(claimcheck.now_ms())
FROM (VALUES ('workflow', :workflow::text), ('day', '')) AS w(scope, name)
ON CONFLICT (scope, name, day) DO NOTHING;

-- name: end
WITH moment AS MATERIALIZED (
  SELECT claimcheck.now_ms() AS now
), call AS MATERIALIZED (
  SELECT c.job, c.n, c.ended_at FROM claimcheck.jobs j
    JOIN claimcheck.model_calls c ON c.job = j.number AND c.n = :n::integer AND c.token = :token::bigint
  WHERE j.id = :id
), held AS MATERIALIZED (
  SELECT c.job FROM call c JOIN claimcheck.leases l ON l.job = c.job
  WHERE l.token = :token::bigint AND c.ended_at IS NULL
  FOR SHARE OF l
), ended AS (
  UPDATE claimcheck.model_calls c
  SET ended_at = m.now, ended = :ended, response = :response, billing = :billing, cost = :cost::bigint
  FROM moment m CROSS JOIN held h
  WHERE c.job = h.job AND c.n = :n::integer AND c.ended_at IS NULL
  RETURNING c.workflow, c.day, c.reserved
), accounts AS MATERIALIZED (
  SELECT s.scope, s.name, s.day, e.reserved
  FROM ended e CROSS JOIN LATERAL (
    VALUES (1, 'workflow', e.workflow, e.day), (2, 'day', '', e.day), (3, 'job', :id::text, '')
  ) AS w(rank, scope, name, day)
  JOIN claimcheck.spending s ON s.scope = w.scope AND s.name = w.name AND s.day = w.day
  WHERE :cost::bigint IS NOT NULL
  ORDER BY w.rank FOR UPDATE OF s
), released AS (
  UPDATE claimcheck.spending s SET reserved = s.reserved - a.reserved, spent = s.spent + :cost::bigint
  FROM accounts a WHERE s.scope = a.scope AND s.name = a.name AND s.day = a.day
), kept AS (
  INSERT INTO claimcheck.blobs (uri, media_type, bytes)
  SELECT :blob_uri, :blob_media_type, :blob_bytes::bytea FROM ended WHERE :blob_uri::text IS NOT NULL
)
SELECT c.ended_at IS NOT NULL OR EXISTS (SELECT FROM held) AS ended, (SELECT count(*) FROM ended) AS written FROM call c;

-- name: settleUnknown
WITH moment AS MATERIALIZED (
  SELECT claimcheck.now_ms() AS now
), call AS MATERIALIZED (
  SELECT c.job, c.n, c.ended_at IS NULL AND l.token IS NOT NULL AS under_way
  FROM claimcheck.jobs j
    JOIN claimcheck.lanes n ON n.lane = j.lane
    JOIN claimcheck.model_calls c ON c.job = j.number AND c.n = :n::integer
    LEFT JOIN claimcheck.leases l ON l.job = c.job AND l.token = c.token
  WHERE j.id = :id AND n.tenant = :tenant
), settled AS (
  UPDATE claimcheck.model_calls c
  SET billing = 'settled', cost = :cost::bigint, settled_by = :settled_by, settled_at = m.now
  FROM moment m CROSS JOIN call k
  WHERE c.job = k.job AND c.n = k.n AND c.billing = 'unknown' AND NOT k.under_way
  RETURNING c.workflow, c.day, c.reserved
), accounts AS MATERIALIZED (
  SELECT s.scope, s.name, s.day, e.reserved
  FROM settled e CROSS JOIN LATERAL (
    VALUES (1, 'workflow', e.workflow, e.day), (2, 'day', '', e.day), (3, 'job', :id::text, '')
  ) AS w(rank, scope, name, day)
  JOIN claimcheck.spending s ON s.scope = w.scope AND s.name = w.name AND s.day = w.day
  ORDER BY w.rank FOR UPDATE OF s
), released AS (
  UPDATE claimcheck.spending s SET reserved = s.reserved - a.reserved, spent = s.spent + :cost::bigint
  FROM accounts a WHERE s.scope = a.scope AND s.name = a.name AND s.day = a.day
)
SELECT EXISTS (SELECT FROM settled) AS settled FROM call;

-- name: calls
SELECT c.n, c.token, c.attempt, c.place, c.started_at, c.reserved, c.opening, c.reused_from,
  c.ended_at, c.ended, c.response, c.billing, c.cost, c.settled_by, c.settled_at, l.token AS current
FROM claimcheck.jobs j
  JOIN claimcheck.model_calls c ON c.job = j.number
  LEFT JOIN claimcheck.leases l ON l.job = j.number
WHERE j.id = :id
ORDER BY c.n;

-- name: unknownCalls
SELECT c.n, c.token, c.attempt, c.place, c.started_at, c.reserved, c.opening, c.reused_from,
  c.ended_at, c.ended, c.response, c.billing, c.cost, c.settled_by, c.settled_at, l.token AS current,
  j.id, n.tenant, c.workflow
FROM claimcheck.model_calls c
  JOIN claimcheck.jobs j ON j.number = c.job
  JOIN claimcheck.lanes n ON n.lane = j.lane
  LEFT JOIN claimcheck.leases l ON l.job = c.job
WHERE c.billing = 'unknown' AND (c.ended_at IS NOT NULL OR l.token IS DISTINCT FROM c.token)
ORDER BY c.started_at, c.job, c.n
LIMIT :limit::bigint;

-- name: setLimit
INSERT INTO claimcheck.spending_limits (scope, name, amount, actor, reason, at)
VALUES (:scope, :name, :amount::bigint, :actor, :reason, claimcheck.now_ms());

-- name: limits
WITH moment AS MATERIALIZED (
  SELECT claimcheck.utc_day(claimcheck.now_ms()) AS day
), newest AS MATERIALIZED (
  SELECT DISTINCT ON (scope, name) scope, name, amount, actor, reason, at FROM claimcheck.spending_limits
  ORDER BY scope, name, number DESC
), today AS MATERIALIZED (
  SELECT s.scope, s.name, s.spent, s.reserved FROM moment m JOIN claimcheck.spending s ON s.day = m.day AND s.day <> ''
), named AS (
  SELECT 'day' AS scope, '' AS name UNION SELECT scope, name FROM newest UNION SELECT scope, name FROM today
)
SELECT a.scope, a.name, m.day, t.amount, coalesce(s.spent, 0) AS spent, coalesce(s.reserved, 0) AS reserved,
  t.actor, t.reason, t.at
FROM moment m CROSS JOIN named a
  LEFT JOIN newest t ON t.scope = a.scope AND t.name = a.name
  LEFT JOIN today s ON s.scope = a.scope AND s.name = a.name
ORDER BY a.scope COLLATE "C", a.name COLLATE "C";

-- name: pause
WITH moment AS MATERIALIZED (
  SELECT claimcheck.now_ms() AS now
)
INSERT INTO claimcheck.provider_pauses AS p (provider, account, model, until)
SELECT :provider, :account, :model, now + :for_ms::bigint FROM moment
ON CONFLICT (provider, account, model) DO UPDATE SET
  workflows = CASE WHEN p.until > (SELECT now FROM moment) THEN p.workflows ELSE '{}' END,
  until = greatest(p.until, excluded.until);

-- name: holdWorkflow
UPDATE claimcheck.provider_pauses SET workflows = array_append(workflows, :workflow)
WHERE provider = :provider AND account = :account AND model = :model AND until > claimcheck.now_ms()
  AND NOT (:workflow = ANY (workflows));

-- name: heldWorkflows
WITH moment AS MATERIALIZED (
  SELECT claimcheck.now_ms() AS now
)
SELECT w.workflow, max(p.until - m.now) AS for_ms
FROM moment m JOIN claimcheck.provider_pauses p ON p.until > m.now CROSS JOIN unnest(p.workflows) AS w(workflow)
GROUP BY w.workflow ORDER BY w.workflow;
