-- name: held
SELECT j.number AS job, j.spending_limit FROM jobs j CROSS JOIN leases l ON l.job = j.number
WHERE j.id = :id AND l.token = :token;

-- name: begun
SELECT n FROM model_calls WHERE job = :job AND token = :token AND place = :place;

-- name: paused
SELECT until - :now AS for_ms FROM provider_pauses
WHERE provider = :provider AND account = :account AND model = :model AND until > :now;

-- name: newestLimit
SELECT amount FROM spending_limits WHERE scope = :scope AND name = :name ORDER BY number DESC LIMIT 1;

-- name: lines
WITH wanted (rank, scope, name, day, amount) AS (
  VALUES (1, 'job', :id, '', :job_limit), (2, 'workflow', :workflow, :day, :workflow_limit), (3, 'day', '', :day, :day_limit)
)
SELECT w.scope, w.name, w.day, w.amount, coalesce(s.spent, 0) AS spent, coalesce(s.reserved, 0) AS reserved
FROM wanted w LEFT JOIN spending s ON s.scope = w.scope AND s.name = w.name AND s.day = w.day
ORDER BY w.rank;

-- name: reserve
-- In all three accounts, or in none: where one of them would pass its limit, nothing is written.
WITH wanted (scope, name, day, amount) AS (
  VALUES ('job', :id, '', :job_limit), ('workflow', :workflow, :day, :workflow_limit), ('day', '', :day, :day_limit)
)
INSERT INTO spending (scope, name, day, reserved, calls)
SELECT scope, name, day, :estimate, 1 FROM wanted
WHERE NOT EXISTS (
  SELECT 1 FROM wanted w LEFT JOIN spending s ON s.scope = w.scope AND s.name = w.name AND s.day = w.day
  WHERE coalesce(s.spent + s.reserved, 0) + :estimate > w.amount
)
ON CONFLICT (day, scope, name) DO UPDATE SET reserved = reserved + excluded.reserved, calls = calls + 1
RETURNING scope, calls;

-- name: add
INSERT INTO model_calls (job, n, token, attempt, place, workflow, day, started_at, reserved, opening, reused_from)
VALUES (:job, :n, :token, :attempt, :place, :workflow, :day, :now, :estimate, :opening, :reused_from);

-- name: call
SELECT j.id, c.job, c.workflow, c.day, c.reserved, c.billing, c.ended_at, l.token IS NOT NULL AS living
FROM jobs j CROSS JOIN model_calls c ON c.job = j.number LEFT JOIN leases l ON l.job = c.job AND l.token = c.token
WHERE j.id = :id AND c.n = :n AND (:token IS NULL OR c.token = :token)
  AND (:tenant IS NULL OR j.lane IN (SELECT lane FROM lanes WHERE tenant = :tenant));

-- name: end
UPDATE model_calls SET ended_at = :now, ended = :ended, response = :response, billing = :billing, cost = :cost
WHERE job = :job AND n = :n;

-- name: settle
UPDATE model_calls SET billing = 'settled', cost = :cost, settled_by = :settled_by, settled_at = :now
WHERE job = :job AND n = :n;

-- name: release
UPDATE spending SET reserved = reserved - :reserved, spent = spent + :cost
WHERE (day, scope, name) IN (VALUES ('', 'job', :id), (:day, 'workflow', :workflow), (:day, 'day', ''));

-- name: calls
SELECT c.n, c.token, c.attempt, c.place, c.started_at, c.reserved, c.opening, c.reused_from,
  c.ended_at, c.ended, c.response, c.billing, c.cost, c.settled_by, c.settled_at, l.token AS current
FROM jobs j CROSS JOIN model_calls c ON c.job = j.number LEFT JOIN leases l ON l.job = j.number
WHERE j.id = :id
ORDER BY c.n;

-- name: unknownCalls
SELECT c.n, c.token, c.attempt, c.place, c.started_at, c.reserved, c.opening, c.reused_from,
  c.ended_at, c.ended, c.response, c.billing, c.cost, c.settled_by, c.settled_at, j.id, j.lane, c.workflow
FROM model_calls c CROSS JOIN jobs j ON j.number = c.job
WHERE c.billing = 'unknown'
  AND (c.ended_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM leases l WHERE l.job = c.job AND l.token = c.token))
ORDER BY c.started_at, c.job, c.n
LIMIT :limit;

-- name: setLimit
INSERT INTO spending_limits (scope, name, amount, actor, reason, at)
VALUES (:scope, :name, :amount, :actor, :reason, :now);

-- name: limits
WITH newest AS (
  SELECT scope, name, amount, actor, reason, at FROM spending_limits
  WHERE number IN (SELECT max(number) FROM spending_limits GROUP BY scope, name)
), named AS (
  SELECT 'day' AS scope, '' AS name UNION SELECT scope, name FROM newest
  UNION SELECT scope, name FROM spending WHERE day = :day
)
SELECT a.scope, a.name, :day AS day, t.amount, coalesce(s.spent, 0) AS spent, coalesce(s.reserved, 0) AS reserved,
  t.actor, t.reason, t.at
FROM named a
  LEFT JOIN newest t ON t.scope = a.scope AND t.name = a.name
  LEFT JOIN spending s ON s.scope = a.scope AND s.name = a.name AND s.day = :day
ORDER BY a.scope, a.name;

-- name: pause
INSERT INTO provider_pauses (provider, account, model, until) VALUES (:provider, :account, :model, :until)
ON CONFLICT (provider, account, model) DO UPDATE SET
  workflows = CASE WHEN until > :now THEN workflows ELSE '[]' END, until = max(until, :until);

-- name: holdWorkflow
UPDATE provider_pauses SET workflows = json_insert(workflows, '$[#]', :workflow)
WHERE provider = :provider AND account = :account AND model = :model AND until > :now
  AND NOT EXISTS (SELECT 1 FROM json_each(workflows) WHERE value = :workflow);

-- name: heldWorkflows
SELECT w.value AS workflow, max(p.until) - :now AS for_ms
FROM provider_pauses p CROSS JOIN json_each(p.workflows) w
WHERE p.until > :now
GROUP BY w.value ORDER BY w.value;
