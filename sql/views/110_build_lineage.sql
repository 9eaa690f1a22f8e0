-- build_lineage: Builds with the builds that they were made from.
--
-- The build before another one is the parent in its manifest, if the store has that
-- build, else the build before it on its branch. Builds with a role, such as reference,
-- are left out. If builds are each other's ancestors, by mistake, each has the others
-- once.
--
-- columns:
--   build
--   ancestor  STRING  Id of a build before it.
--   distance  INT     1 for the build before, then 2, ..., at most 128.
WITH RECURSIVE ordered AS (
    SELECT
        build, build_parent,
        lag(build) OVER (PARTITION BY branch ORDER BY position) AS build_before
    FROM builds_in_order
    WHERE build_role IS NULL
),
steps AS (
    SELECT o.build, coalesce(p.build, o.build_before) AS ancestor
    FROM ordered AS o
    LEFT JOIN ordered AS p ON p.build = o.build_parent AND p.build <> o.build
    WHERE p.build IS NOT NULL OR o.build_before IS NOT NULL
),
-- Two at a time, because engines limit recursion to a hundred steps.
near AS (
    SELECT build, ancestor, 1 AS distance
    FROM steps
    UNION ALL
    SELECT s.build, t.ancestor, 2 AS distance
    FROM steps AS s
    JOIN steps AS t ON t.build = s.ancestor
),
lineage AS (
    SELECT build, ancestor, distance
    FROM near
    UNION ALL
    SELECT l.build, n.ancestor, l.distance + 2 AS distance
    FROM lineage AS l
    JOIN near AS n ON n.build = l.ancestor AND n.distance = 2
    WHERE l.distance <= 126
)
SELECT build, ancestor, CAST(min(distance) AS INT) AS distance
FROM lineage
WHERE ancestor <> build
GROUP BY build, ancestor
