-- pair_recordings: Dumps of two builds, and of reference builds recorded with them.
--
-- Reads compared_dumps. A reference build counts if it was recorded in the same session
-- of the same device, model and backend, unless it is compared itself.
--
-- columns:
--   dump_id, device, pool, model, backend, build
--   distance     INT        0 in the head, 1 in the base; null for a reference build.
--   session      STRING     Session of the recording; '' if unknown.
--   pair         STRING     Pair of dumps in the session; '' if none.
--   recorded_at  TIMESTAMP  Begin of the recording; null if unknown.
WITH own AS (
    SELECT
        c.dump_id, c.device, c.model, c.backend, d.pool, d.build, d.session, d.pair,
        d.captured_at, 1 - c.is_head AS distance
    FROM compared_dumps AS c
    JOIN named_dumps AS d ON d.dump_id = c.dump_id
),
recorded AS (
    SELECT
        dump_id, device, model, backend, pool, build, session, pair, captured_at,
        distance
    FROM own
    UNION ALL
    SELECT
        r.dump_id, r.device, r.model, r.backend, r.pool, r.build, r.session, r.pair,
        r.captured_at, CAST(NULL AS INT) AS distance
    FROM named_dumps AS r
    JOIN (SELECT DISTINCT device, model, backend, session FROM own) AS s
        ON same_family(s, r) AND s.session = r.session
    WHERE r.build_role = 'reference' AND r.build NOT IN (SELECT build FROM own)
)
SELECT
    dump_id, device,
    CASE WHEN min(pool) OVER family = max(pool) OVER family THEN min(pool) OVER family
    END AS pool,
    model, backend, build, distance, coalesce(session, '') AS session,
    coalesce(pair, '') AS pair,
    min(captured_at) OVER (
        PARTITION BY device, model, backend, build, session
    ) AS recorded_at
FROM recorded
WINDOW family AS (PARTITION BY device, model, backend)
