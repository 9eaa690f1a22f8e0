-- coverage_gaps: Missing recordings: builds without dumps of a model on a device.
--
-- A model is expected on every device that has dumps of it in any build of a branch: in
-- each build of that branch, or in its last builds. What `expected` names is expected
-- in each build. Nothing is expected of builds with a role, nor because of them.
-- Builds are ordered by their ordinals, else by their commit times, else by their first
-- recordings.
--
-- params:
--   last_n       INT(1..) = NULL   Only the last so many builds; all by default.
--   fresh_since  TIMESTAMP = NULL  Dumps captured before this time, or at an unknown
--                             one, are no longer fresh, which is a gap, too.
--   expected     PLACE[] = NULL    Expected every night, as 'DEVICE / MODEL' or 'DEVICE
--                             / MODEL / BACKEND'; by default [[expected]] in
--                             tracehouse.toml.
--
-- filters: chosen_dumps
--
-- next: coverage, ingest_errors
--
-- columns:
--   device, model
--   backend           STRING     Backend of the model; null if none, or if `expected`
--                                allows any.
--   build             STRING     Build without a fresh dump of it.
--   stale_count       BIGINT     Dumps that are not fresh; 0 without fresh_since.
--   last_build        STRING     Last build with fresh dumps of it; null if none.
--   builds_since      BIGINT     Builds after that; otherwise null.
--   last_captured_at  TIMESTAMP  Last recording of it in any build; null if unknown.
--   is_expected       BOOLEAN    Whether `expected` names it.
WITH expected AS (
    SELECT
        split_part(p.place, ' / ', 1) AS device, split_part(p.place, ' / ', 2) AS model,
        nullif(split_part(p.place, ' / ', 3), '') AS backend
    FROM (SELECT explode(CAST(:expected AS ARRAY<STRING>)) AS place) AS p
),
recorded AS (
    SELECT
        c.device, c.model, c.backend, c.build, d.captured_at,
        CASE
            WHEN CAST(:fresh_since AS TIMESTAMP) IS NULL THEN 1
            WHEN d.captured_at >= CAST(:fresh_since AS TIMESTAMP) THEN 1
            ELSE 0
        END AS is_fresh
    FROM chosen_dumps AS c
    JOIN dumps AS d ON d.dump_id = c.dump_id
),
wanted_builds AS (
    SELECT
        build, coalesce(branch, '') AS branch,
        CAST(row_number() OVER (ORDER BY position) AS BIGINT) AS place,
        count(*) OVER () AS build_count
    FROM builds_in_order
    WHERE build_role IS NULL AND is_chosen(:build, build)
),
counts AS (
    SELECT
        device, model, backend, build, sum(is_fresh) AS fresh_count,
        count(*) AS dump_count
    FROM recorded
    GROUP BY device, model, backend, build
),
recorded_branches AS (
    SELECT DISTINCT
        c.device, c.model, coalesce(c.backend, '') AS backend, w.branch
    FROM counts AS c
    JOIN wanted_builds AS w ON w.build = c.build
),
wanted AS (
    SELECT
        r.device, r.model, r.backend, max(r.captured_at) AS last_captured_at,
        count(e.device) > 0 AS is_expected
    FROM recorded AS r
    LEFT JOIN expected AS e
        ON e.device = r.device AND e.model = r.model
        AND coalesce(e.backend, r.backend, '') = coalesce(r.backend, '')
    GROUP BY r.device, r.model, r.backend
    UNION ALL
    SELECT
        e.device, e.model, e.backend, max(r.captured_at) AS last_captured_at,
        TRUE AS is_expected
    FROM expected AS e
    LEFT JOIN recorded AS r
        ON r.device = e.device AND r.model = e.model
        AND coalesce(e.backend, r.backend, '') = coalesce(r.backend, '')
    WHERE is_chosen(:device, e.device)
        AND (CAST(:pool AS ARRAY<STRING>) IS NULL
            OR e.device IN (SELECT device FROM recorded))
        AND is_chosen(:model, e.model)
        AND is_chosen(:backend, e.backend)
    GROUP BY e.device, e.model, e.backend
    HAVING count(r.device) = 0
),
series AS (
    SELECT
        s.device, s.model, s.backend, s.last_captured_at, s.is_expected,
        max(CASE WHEN c.fresh_count > 0 THEN w.place END) AS last_place
    FROM wanted AS s
    LEFT JOIN counts AS c ON same_family(c, s)
    LEFT JOIN wanted_builds AS w ON w.build = c.build
    GROUP BY s.device, s.model, s.backend, s.last_captured_at, s.is_expected
)
SELECT
    s.device, s.model, s.backend, w.build,
    coalesce(c.dump_count, 0) AS stale_count, l.build AS last_build,
    w.build_count - s.last_place AS builds_since, s.last_captured_at, s.is_expected
FROM series AS s
CROSS JOIN wanted_builds AS w
LEFT JOIN recorded_branches AS r
    ON r.device = s.device AND r.model = s.model
    AND r.backend = coalesce(s.backend, '') AND r.branch = w.branch
LEFT JOIN wanted_builds AS l ON l.place = s.last_place
LEFT JOIN counts AS c ON same_family(c, s) AND c.build = w.build
WHERE coalesce(c.fresh_count, 0) = 0
    AND (s.is_expected OR r.device IS NOT NULL)
    AND w.place > w.build_count - coalesce(CAST(:last_n AS INT), w.build_count)
ORDER BY s.device, s.model, s.backend NULLS LAST, w.place
