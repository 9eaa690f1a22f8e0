-- coverage_gaps: What was not recorded: builds without dumps of a model on a device.
--
-- Expected is every model on every device that has dumps of it in any build of a
-- branch, in each build of that branch, or in those of the last ones. Reference builds,
-- which are recorded beside others, are not expected. Builds come in the order of their
-- ordinals, else of their commit times, else of their first recordings.
--
-- params:
--   last_n       INT(1..) = NULL   Only the last so many builds; all by default.
--   fresh_since  TIMESTAMP = NULL  Dumps captured before this time, or at an unknown
--                             one, are no longer fresh: theirs is a gap too.
--
-- filters: chosen_dumps
--
-- columns:
--   device            STRING     Name of the device.
--   model             STRING     Name of the model.
--   backend           STRING     Backend of the model; null if none.
--   build             STRING     Build without a fresh dump of it.
--   stale_count       BIGINT     Dumps that there are, but not fresh: 0 without
--                                fresh_since.
--   last_build        STRING     Last build with fresh dumps of it; null if none.
--   builds_since      BIGINT     Builds after that; null if there is none.
--   last_captured_at  TIMESTAMP  Last recording of it in any build; null if unknown.
WITH recorded AS (
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
    WHERE build_role IS NULL
        AND (CAST(:build AS ARRAY<STRING>) IS NULL
            OR array_contains(CAST(:build AS ARRAY<STRING>), build))
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
        r.device, r.model, coalesce(r.backend, '') AS backend,
        coalesce(b.branch, '') AS branch
    FROM recorded AS r
    JOIN builds_in_order AS b ON b.build = r.build
),
series AS (
    SELECT
        r.device, r.model, r.backend, r.last_captured_at,
        max(CASE WHEN c.fresh_count > 0 THEN w.place END) AS last_place
    FROM (
        SELECT device, model, backend, max(captured_at) AS last_captured_at
        FROM recorded
        GROUP BY device, model, backend
    ) AS r
    JOIN counts AS c
        ON c.device = r.device AND c.model = r.model
        AND c.backend IS NOT DISTINCT FROM r.backend
    LEFT JOIN wanted_builds AS w ON w.build = c.build
    GROUP BY r.device, r.model, r.backend, r.last_captured_at
)
SELECT
    s.device, s.model, s.backend, w.build,
    coalesce(c.dump_count, 0) AS stale_count, l.build AS last_build,
    w.build_count - s.last_place AS builds_since, s.last_captured_at
FROM series AS s
JOIN recorded_branches AS r
    ON r.device = s.device AND r.model = s.model
    AND r.backend = coalesce(s.backend, '')
JOIN wanted_builds AS w ON w.branch = r.branch
LEFT JOIN wanted_builds AS l ON l.place = s.last_place
LEFT JOIN counts AS c
    ON c.device = s.device AND c.model = s.model
    AND c.backend IS NOT DISTINCT FROM s.backend AND c.build = w.build
WHERE coalesce(c.fresh_count, 0) = 0
    AND w.place > w.build_count - coalesce(CAST(:last_n AS INT), w.build_count)
ORDER BY s.device, s.model, s.backend NULLS LAST, w.place
