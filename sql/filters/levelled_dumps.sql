-- levelled_dumps: The chosen dumps with the speed level of each.
--
-- The dumps of a build of a model on a device have two levels if there is a clear gap
-- between their values; see the function find_gap.
--
-- filters: steady_dumps
--
-- columns:
--   dump_id, device, model, backend, run, build, captured_at
--   run_count     BIGINT  Runs that count, at least 20.
--   value         DOUBLE  Median duration: nanoseconds, ticks in cycles of unknown
--                         rate.
--   value_ns
--   cv            DOUBLE  Standard deviation over mean; null, like the next columns,
--                         where the divisor is 0.
--   iqr_share, p99_over_p50
--   max_over_min  DOUBLE  Longest over shortest.
--   drift         DOUBLE  Median of the last third of the runs over the first third's,
--                         less 1.
--   y             DOUBLE  Natural logarithm of the value; a value of 0 counts as 1.
--   group_id      BIGINT  Numbers device, model, backend, run and build.
--   group_count   BIGINT  Dumps of the group.
--   level_gap     DOUBLE  Gap between its levels, in log time; null if it has but one.
--   is_slow       INT     1 above the gap, 0 below; null without a gap.
WITH series AS (
    SELECT
        *, ln(greatest(value, 1e0)) AS y,
        count(*) OVER (PARTITION BY device, model, backend, run, build)
            AS group_count,
        dense_rank() OVER (ORDER BY device, model, backend, run, build) AS group_id
    FROM steady_dumps
),
levels AS (
    SELECT group_id, find_gap(array_sort(array_agg(y))) AS gap
    FROM series
    GROUP BY group_id
)
SELECT
    s.dump_id, s.device, s.model, s.backend, s.run, s.build, s.captured_at,
    s.run_count, s.value, s.value_ns,
    s.cv, s.iqr_share, s.p99_over_p50, s.max_over_min, s.drift,
    s.y, s.group_id, s.group_count, l.gap.width AS level_gap,
    CASE WHEN s.y > l.gap.middle THEN 1 WHEN s.y < l.gap.middle THEN 0 END AS is_slow
FROM series AS s
JOIN levels AS l ON l.group_id = s.group_id
