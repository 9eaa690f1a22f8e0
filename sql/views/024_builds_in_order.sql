-- builds_in_order: Builds in their order.
--
-- Builds are ordered by their ordinals, else by their commit times, else by their first
-- recordings, else by their names.
--
-- columns:
--   build, build_ordinal, branch, committed_at, first_captured_at, build_parent,
--   build_role
--   position  INT  Place in the order, from 1.
SELECT
    b.name AS build, b.ordinal AS build_ordinal, b.branch, b.committed_at,
    d.first_captured_at, b.parent AS build_parent, b.role AS build_role,
    CAST(row_number() OVER (
        ORDER BY
            b.ordinal NULLS LAST, b.committed_at NULLS LAST,
            d.first_captured_at NULLS LAST, b.name
    ) AS INT) AS position
FROM builds AS b
JOIN (
    SELECT build_id, min(captured_at) AS first_captured_at
    FROM dumps
    GROUP BY build_id
) AS d ON d.build_id = b.build_id
