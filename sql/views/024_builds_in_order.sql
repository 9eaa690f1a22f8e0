-- builds_in_order: Builds in their order.
--
-- Builds are ordered by their ordinals, else by their commit times, else by their first
-- recordings, else by their names.
--
-- columns:
--   build              STRING     Id of the build.
--   build_ordinal      BIGINT     Position of the build where the producer numbers
--                                 them, else null.
--   branch             STRING     Branch of the build; null if unknown.
--   committed_at       TIMESTAMP  Commit time of the build; null if unknown.
--   first_captured_at  TIMESTAMP  First recording of the build on any device; null if
--                                 unknown.
--   build_parent       STRING     Build it was made from, or of its fork point, as
--                                 stated; null where nothing is.
--   build_role         STRING     reference for a pinned build recorded with others,
--                                 else null.
--   position           INT        Place in the order, from 1.
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
