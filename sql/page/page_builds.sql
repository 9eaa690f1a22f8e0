-- page_builds: Builds of the chosen dumps in their order, and a row for all of them.
--
-- filters: chosen_dumps
--
-- columns:
--   build         STRING  Id of the build; null in the row for all, which comes first.
--   position      INT     Place of the build in the store's order, from 1.
--   device_count  BIGINT  Devices that recorded it, at least 1.
--   model_count   BIGINT  Models on a backend, at least 1.
--   dump_count    BIGINT  Dumps, at least 1.
SELECT
    c.build, o.position, c.device_count, c.model_count, c.dump_count
FROM (
    SELECT
        build, count(DISTINCT device) AS device_count,
        count(DISTINCT model || ' / ' || coalesce(backend, '')) AS model_count,
        count(*) AS dump_count
    FROM chosen_dumps
    GROUP BY GROUPING SETS ((build), ())
) AS c
LEFT JOIN builds_in_order AS o ON o.build = c.build
WHERE c.dump_count > 0
ORDER BY o.position NULLS FIRST
