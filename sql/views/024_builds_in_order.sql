-- builds_in_order: Builds in their order.
--
-- Builds are ordered by their ordinals, else by their commit times, else by their times
-- of recording, else by their names. A build without ordinal and commit time was
-- recorded at the median of its devices' times (of two, the later one), each the median
-- of its dumps, so that no single clock that is wrong moves the build.
--
-- columns:
--   build, build_ordinal, branch, committed_at, first_captured_at, build_parent,
--   build_role
--   position  INT  Place in the order, from 1.
WITH recorded AS (
    SELECT d.build_id, d.device_id, d.captured_at
    FROM dumps AS d
    JOIN builds AS b ON b.build_id = d.build_id
    WHERE b.ordinal IS NULL AND b.committed_at IS NULL AND d.captured_at IS NOT NULL
),
of_devices AS (
    SELECT build_id, captured_at
    FROM (
        SELECT
            build_id, captured_at, row_number() OVER device AS place,
            count(*) OVER (PARTITION BY build_id, device_id) AS n
        FROM recorded
        WINDOW device AS (PARTITION BY build_id, device_id ORDER BY captured_at)
    ) AS r
    WHERE 2 * place IN (n + 1, n + 2)
),
of_builds AS (
    SELECT build_id, captured_at
    FROM (
        SELECT
            build_id, captured_at, row_number() OVER build AS place,
            count(*) OVER (PARTITION BY build_id) AS n
        FROM of_devices
        WINDOW build AS (PARTITION BY build_id ORDER BY captured_at)
    ) AS r
    WHERE 2 * place IN (n + 1, n + 2)
)
SELECT
    b.name AS build, b.ordinal AS build_ordinal, b.branch, b.committed_at,
    d.first_captured_at, b.parent AS build_parent, b.role AS build_role,
    CAST(row_number() OVER (
        ORDER BY
            b.ordinal NULLS LAST, b.committed_at NULLS LAST,
            coalesce(o.captured_at, d.first_captured_at) NULLS LAST, b.name
    ) AS INT) AS position
FROM builds AS b
JOIN (
    SELECT build_id, min(captured_at) AS first_captured_at
    FROM dumps
    GROUP BY build_id
) AS d ON d.build_id = b.build_id
LEFT JOIN of_builds AS o ON o.build_id = b.build_id
