-- exact_values: Measures without noise of a build and of those before it, build by build.
--
-- parts: lineage_dumps AS compared_dumps, exact_measures
--
-- columns:
--   device, model, backend
--   measure     STRING  Name of the measure; see exact_measures.
--   run_name    STRING  Name of the measured runs; null for measures of the whole dump.
--   allocator   STRING  Allocator of the bytes; null in other measures, and if it has
--                       no name.
--   build
--   distance    INT     0 for the build in question, 1 for the one before, ...
--   dump_count  BIGINT  Dumps of the build that have it.
--   low         DOUBLE  Lowest value.
--   high        DOUBLE  Highest value.
SELECT
    c.device, c.model, c.backend, m.measure, m.run_name, m.allocator, c.build,
    c.distance, count(*) AS dump_count, min(m.low) AS low, max(m.high) AS high
FROM exact_measures AS m
JOIN compared_dumps AS c ON c.dump_id = m.dump_id
GROUP BY
    c.device, c.model, c.backend, m.measure, m.run_name, m.allocator, c.build,
    c.distance
ORDER BY
    c.device, c.model, c.backend NULLS LAST, m.measure, m.run_name NULLS LAST,
    m.allocator NULLS LAST, c.distance DESC
