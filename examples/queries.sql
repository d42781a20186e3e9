-- Ten questions of an auditor, for the tables of `contrail export --parquet tables …`, in DuckDB's dialect.
-- `duckdb < examples/queries.sql` answers them all. For the exports of a fleet, name the files with a pattern:
-- 'tables/*/exchanges.parquet'. Views make instants plain UTC. `genuine` has the calls whose answer shows that the
-- token is genuine.

CREATE VIEW exchanges AS
SELECT * REPLACE (make_timestamp(epoch_us(started)) AS started) FROM 'tables/exchanges.parquet';
CREATE VIEW findings AS
SELECT * REPLACE (make_timestamp(epoch_us(started)) AS started) FROM 'tables/findings.parquet';
CREATE VIEW tokens AS SELECT DISTINCT token, client, scopes, audience FROM 'tables/tokens.parquet';
CREATE VIEW genuine AS
SELECT * FROM exchanges
WHERE token IS NOT NULL AND signature <> 'bad' AND answered IS NULL
  AND (status BETWEEN 200 AND 299 OR status = 403
       OR operation IS NOT NULL AND status BETWEEN 300 AND 499 AND status <> 401);

-- 1. Who called what, and with which result?
SELECT caller,
       coalesce(operation, 'undocumented') AS operation,
       count(*) AS count,
       count(*) FILTER (status BETWEEN 200 AND 299 AND answered IS NULL) AS accepted,
       count(*) FILTER (status IN (401, 403) AND answered IS NULL) AS refused,
       count(*) FILTER (status = 429 AND answered IS NULL) AS limited,
       count(*) FILTER (verdict = 'violates') AS violating
FROM exchanges
GROUP BY ALL
ORDER BY ALL;

-- 2. Which rules of the contract were broken, and how often?
SELECT rule, kind, count(*) AS count
FROM findings
WHERE kind <> 'unchecked'
GROUP BY ALL
ORDER BY ALL;

-- 3. Which scopes did each caller hold?
SELECT DISTINCT caller, scope
FROM (SELECT caller, unnest(scopes) AS scope FROM genuine JOIN tokens USING (token))
ORDER BY ALL;

-- 4. Which scopes did no call need?
-- A scope of the answer may be needed where the contract does not show what an operation needs: question 8 counts
-- these calls. An operation with several alternatives needs the audit's own answer.
WITH held AS (
    SELECT DISTINCT caller, scope
    FROM (SELECT caller, unnest(scopes) AS scope FROM genuine JOIN tokens USING (token))
), needed AS (
    SELECT caller, unnest(string_split(alternative, ' ')) AS scope
    FROM (SELECT caller, unnest(required_scopes) AS alternative FROM genuine)
)
SELECT caller, scope FROM held ANTI JOIN needed USING (caller, scope)
ORDER BY ALL;

-- 5. Which callers lacked a scope that their calls need?
-- Of several alternatives, the answer has each scope that a call lacked which satisfies none. The audit has those of
-- the least set.
SELECT DISTINCT caller, scope
FROM (SELECT caller, token, unnest(string_split(alternative, ' ')) AS scope
      FROM (SELECT caller, token, unnest(required_scopes) AS alternative FROM genuine
            WHERE (coalesce(trail, ''), source, entry) IN
                  (SELECT (coalesce(trail, ''), source, entry) FROM findings
                   WHERE rule = 'auth.scope')))
JOIN tokens USING (token)
WHERE NOT list_contains(coalesce(scopes, []), scope)
ORDER BY ALL;

-- 6. Did the tenant accept what it had to refuse?
-- An empty answer is one of the calls that were checked. Question 8 counts the others.
SELECT coalesce(operation, 'undocumented') AS operation, place, count(*) AS count,
       arg_min(source || ' entry ' || entry, (started, source, entry)) AS first
FROM findings
WHERE rule = 'auth.unenforced'
GROUP BY ALL
ORDER BY ALL;

-- 7. Who called with a token that was expired or not valid yet?
-- Where the contract requires no token, such a call is no violation. The answer has it all the same.
SELECT caller, token_time, coalesce(operation, 'undocumented') AS operation,
       count(*) AS count,
       count(*) FILTER (status BETWEEN 200 AND 299 AND answered IS NULL) AS accepted
FROM exchanges
WHERE token_time <> 'valid'
GROUP BY ALL
ORDER BY ALL;

-- 8. What was not checked?
SELECT aspect, coalesce(operation, 'undocumented') AS operation, count(*) AS count
FROM findings
WHERE kind = 'unchecked'
GROUP BY ALL
ORDER BY ALL;

-- 9. Where is the documentation silent?
SELECT coalesce(operation, 'undocumented') AS operation, rule, count(*) AS count
FROM findings
WHERE kind = 'gap'
GROUP BY ALL
ORDER BY ALL;

-- 10. In which hours has one instance no exchange, and another has some?
-- It may have had no traffic, so this is no finding.
WITH hours AS (
    SELECT DISTINCT trail, date_trunc('hour', started) AS hour
    FROM exchanges
    WHERE trail IS NOT NULL AND started IS NOT NULL
)
SELECT trail, strftime(hour, '%Y-%m-%dT%H:%M:%SZ') AS hour
FROM (SELECT DISTINCT trail FROM hours) CROSS JOIN (SELECT DISTINCT hour FROM hours)
ANTI JOIN hours USING (trail, hour)
ORDER BY ALL;
