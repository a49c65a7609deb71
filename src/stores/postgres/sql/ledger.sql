-- name: begin
-- The lease is held until the end, so that no reap comes between; then the accounts, in the order in which every statement
-- takes them. What is read of a locked row is its newest version. The job's account is made by its first call: of two at once
-- the second finds it only as it writes it, and is checked there. Whatever stands in the way, nothing is written at all.
--
-- No join leaves the planner a choice between a good plan and a disaster: each table is read by one key at a time.
WITH moment AS MATERIALIZED (
  SELECT now, claimcheck.utc_day(now) AS day FROM claimcheck.now_ms() AS now
), held AS MATERIALIZED (
  SELECT j.number AS job, j.spending_limit AS amount FROM claimcheck.jobs j CROSS JOIN LATERAL (
    SELECT FROM claimcheck.leases l WHERE l.job = j.number AND l.token = :token::bigint FOR SHARE
  ) l
  WHERE j.id = :id
), known AS MATERIALIZED (
  SELECT c.n FROM held h CROSS JOIN LATERAL (
    SELECT c.n FROM claimcheck.model_calls c
    WHERE c.job = h.job AND c.token = :token::bigint AND c.place = :place::integer OFFSET 0
  ) c
), paused AS MATERIALIZED (
  SELECT p.until - m.now AS for_ms FROM moment m CROSS JOIN claimcheck.provider_pauses p
  WHERE p.provider = :provider AND p.account = :account AND p.model = :model AND p.until > m.now AND :limited::boolean
), wanted AS MATERIALIZED (
  SELECT w.rank, w.scope, w.name, w.day, w.amount
  FROM held h CROSS JOIN moment m CROSS JOIN LATERAL (VALUES
    (1, 'job', :id::text, '', h.amount), (2, 'workflow', :workflow::text, m.day, :workflow_limit::bigint),
    (3, 'day', '', m.day, :day_limit::bigint)
  ) AS w(rank, scope, name, day, amount)
  WHERE NOT EXISTS (SELECT FROM known) AND NOT EXISTS (SELECT FROM paused)
), locked AS MATERIALIZED (
  SELECT w.rank, s.number, s.spent, s.reserved
  FROM (SELECT rank, day, scope, name FROM wanted ORDER BY rank DESC OFFSET 0) w CROSS JOIN LATERAL (
    SELECT s.number, s.spent, s.reserved FROM claimcheck.spending s
    WHERE s.day = w.day AND s.scope = w.scope AND s.name = w.name FOR UPDATE
  ) s
), lines AS MATERIALIZED (
  SELECT w.rank, w.scope, w.name, w.day, s.number, coalesce(s.spent, 0) AS spent, coalesce(s.reserved, 0) AS reserved,
    CASE WHEN :limited::boolean THEN (
      -- What a person said last holds, be it that there is none.
      SELECT t.amount FROM (
        (SELECT t.amount FROM claimcheck.spending_limits t WHERE t.scope = w.scope AND t.name = w.name ORDER BY t.number DESC LIMIT 1)
        UNION ALL SELECT w.amount
      ) t LIMIT 1
    ) END AS amount
  FROM wanted w LEFT JOIN locked s ON s.rank = w.rank
), fits AS MATERIALIZED (
  SELECT max(amount) FILTER (WHERE scope = 'job') AS amount FROM lines
  HAVING count(*) FILTER (WHERE number IS NOT NULL OR scope = 'job') = 3
    AND bool_and(coalesce(spent + reserved + :estimate::bigint <= amount, true))
), job_account AS (
  INSERT INTO claimcheck.spending AS s (day, scope, name, reserved, calls)
  SELECT '', 'job', :id, :estimate::bigint, 1 FROM fits
  ON CONFLICT (day, scope, name) DO UPDATE SET reserved = s.reserved + excluded.reserved, calls = s.calls + 1
  WHERE coalesce(s.spent + s.reserved + excluded.reserved <= (SELECT amount FROM fits), true)
  RETURNING s.calls AS n
), counted AS (
  UPDATE claimcheck.spending s SET reserved = s.reserved + :estimate::bigint, calls = s.calls + 1
  WHERE s.number = ANY (ARRAY(SELECT l.number FROM lines l CROSS JOIN job_account WHERE l.scope <> 'job'))
), written AS (
  INSERT INTO claimcheck.model_calls (
    job, n, token, attempt, place, workflow, day, started_at, reserved, opening, reused_from
  )
  SELECT h.job, a.n, :token::bigint, :attempt::integer, :place::integer, :workflow, m.day, m.now, :estimate::bigint,
    :opening, :reused_from::integer
  FROM job_account a CROSS JOIN held h CROSS JOIN moment m
)
SELECT EXISTS (SELECT FROM held) AS held, coalesce((SELECT n FROM known), (SELECT n FROM job_account)) AS n,
  (SELECT for_ms FROM paused) AS for_ms, l.number, l.scope, l.name, l.day, l.amount, l.spent, l.reserved
FROM (SELECT) one LEFT JOIN lines l ON true ORDER BY l.rank;

-- name: open
-- The accounts of today, which a call finds there; a job's own is made by its first call.
INSERT INTO claimcheck.spending (day, scope, name)
SELECT claimcheck.utc_day(claimcheck.now_ms()), w.scope, w.name
FROM (VALUES ('workflow', :workflow::text), ('day', '')) AS w(scope, name)
ON CONFLICT (day, scope, name) DO NOTHING;

-- name: end
-- As a begin: the lease first, and the accounts last.
WITH call AS MATERIALIZED (
  SELECT c.job, c.ended_at FROM claimcheck.jobs j CROSS JOIN LATERAL (
    SELECT c.job, c.ended_at FROM claimcheck.model_calls c
    WHERE c.job = j.number AND c.n = :n::integer AND c.token = :token::bigint OFFSET 0
  ) c
  WHERE j.id = :id
), held AS MATERIALIZED (
  SELECT c.job FROM call c CROSS JOIN LATERAL (
    SELECT FROM claimcheck.leases l WHERE l.job = c.job AND l.token = :token::bigint FOR SHARE
  ) l
  WHERE c.ended_at IS NULL
), ended AS (
  UPDATE claimcheck.model_calls c
  SET ended_at = claimcheck.now_ms(), ended = :ended, response = :response, billing = :billing, cost = :cost::bigint
  WHERE c.job = ANY (ARRAY(SELECT job FROM held)) AND c.n = :n::integer AND c.ended_at IS NULL
  RETURNING c.workflow, c.day, c.reserved
), accounts AS MATERIALIZED (
  SELECT s.number
  FROM ended e CROSS JOIN LATERAL (
    SELECT w.day, w.scope, w.name
    FROM (VALUES (1, '', 'job', :id::text), (2, e.day, 'workflow', e.workflow), (3, e.day, 'day', '')) AS w(rank, day, scope, name)
    ORDER BY w.rank DESC OFFSET 0
  ) w CROSS JOIN LATERAL (
    SELECT s.number FROM claimcheck.spending s WHERE s.day = w.day AND s.scope = w.scope AND s.name = w.name FOR UPDATE
  ) s
  WHERE :cost::bigint IS NOT NULL
), released AS (
  UPDATE claimcheck.spending s SET reserved = s.reserved - (SELECT reserved FROM ended), spent = s.spent + :cost::bigint
  WHERE s.number = ANY (ARRAY(SELECT number FROM accounts))
), kept AS (
  INSERT INTO claimcheck.blobs (uri, media_type, bytes)
  SELECT :blob_uri, :blob_media_type, :blob_bytes::bytea FROM ended WHERE :blob_uri::text IS NOT NULL
)
SELECT c.ended_at IS NOT NULL OR EXISTS (SELECT FROM held) AS ended FROM call c;

-- name: settleUnknown
WITH call AS MATERIALIZED (
  SELECT c.job, c.ended_at IS NULL AND EXISTS (
    SELECT FROM claimcheck.leases l WHERE l.job = c.job AND l.token = c.token
  ) AS under_way
  FROM claimcheck.jobs j CROSS JOIN LATERAL (
    SELECT c.job, c.token, c.ended_at FROM claimcheck.model_calls c WHERE c.job = j.number AND c.n = :n::integer OFFSET 0
  ) c
  WHERE j.id = :id AND (SELECT n.tenant FROM claimcheck.lanes n WHERE n.lane = j.lane) = :tenant
), settled AS (
  -- What costs nothing known is unknown.
  UPDATE claimcheck.model_calls c
  SET billing = 'settled', cost = :cost::bigint, settled_by = :settled_by, settled_at = claimcheck.now_ms()
  WHERE c.job = ANY (ARRAY(SELECT job FROM call WHERE NOT under_way)) AND c.n = :n::integer AND c.cost IS NULL
  RETURNING c.workflow, c.day, c.reserved
), accounts AS MATERIALIZED (
  SELECT s.number
  FROM settled e CROSS JOIN LATERAL (
    SELECT w.day, w.scope, w.name
    FROM (VALUES (1, '', 'job', :id::text), (2, e.day, 'workflow', e.workflow), (3, e.day, 'day', '')) AS w(rank, day, scope, name)
    ORDER BY w.rank DESC OFFSET 0
  ) w CROSS JOIN LATERAL (
    SELECT s.number FROM claimcheck.spending s WHERE s.day = w.day AND s.scope = w.scope AND s.name = w.name FOR UPDATE
  ) s
), released AS (
  UPDATE claimcheck.spending s SET reserved = s.reserved - (SELECT reserved FROM settled), spent = s.spent + :cost::bigint
  WHERE s.number = ANY (ARRAY(SELECT number FROM accounts))
)
SELECT EXISTS (SELECT FROM settled) AS settled FROM call;

-- name: calls
SELECT c.*, (SELECT l.token FROM claimcheck.leases l WHERE l.job = j.number) AS current
FROM claimcheck.jobs j CROSS JOIN LATERAL (
  SELECT n, token, attempt, place, started_at, reserved, opening, reused_from,
    ended_at, ended, response, billing, cost, settled_by, settled_at
  FROM claimcheck.model_calls WHERE job = j.number ORDER BY n
) c
WHERE j.id = :id;

-- name: unknownCalls
SELECT c.n, c.token, c.attempt, c.place, c.started_at, c.reserved, c.opening, c.reused_from,
  c.ended_at, c.ended, c.response, c.billing, c.cost, c.settled_by, c.settled_at,
  j.id, n.tenant, c.workflow
FROM (
  SELECT c.* FROM claimcheck.model_calls c
  WHERE c.billing = 'unknown' AND (c.ended_at IS NOT NULL OR NOT EXISTS (
    SELECT FROM claimcheck.leases l WHERE l.job = c.job AND l.token = c.token
  ))
  ORDER BY c.started_at, c.job, c.n LIMIT :limit::bigint
) c
  CROSS JOIN LATERAL (SELECT j.id, j.lane FROM claimcheck.jobs j WHERE j.number = c.job OFFSET 0) j
  JOIN claimcheck.lanes n ON n.lane = j.lane
ORDER BY c.started_at, c.job, c.n;

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
  SELECT s.scope, s.name, s.spent, s.reserved FROM moment m JOIN claimcheck.spending s ON s.day = m.day
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
