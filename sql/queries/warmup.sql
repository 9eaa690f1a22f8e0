-- warmup: Number of runs until a model reaches its steady speed.
--
-- Counts complete runs, by run signature, in dumps with at least 20 of it. The steady
-- time of a dump is the median of the second half of its runs. A dump is warm from the
-- first run that is within the tolerance of the steady time, together with the median
-- of that run and the next two: so a single slow run among fast ones does not count,
-- nor a single fast one among slow ones.
--
-- params:
--   tolerance  SHARE(0..) = 0.05  How far above the steady time is still steady, as a
--                              share of it.
--
-- filters: grouped_runs
--
-- portions: device
--
-- next: cold_start
--
-- columns:
--   device, pool, build, model, backend, group, run_name, run_signature_id
--   dump_count         BIGINT  Dumps that count, at least 1.
--   run_count          BIGINT  Complete runs in them.
--   warmup_runs        DOUBLE  Runs before a dump is warm: the median over dumps; lower
--                              is better, like all that follow.
--   most_runs          BIGINT  Runs before the last dump is warm.
--   first_ns           DOUBLE  First run, median over dumps, nanoseconds; null in
--                              cycles of unknown rate.
--   steady_ns          DOUBLE  Steady time, median over dumps; null in cycles of
--                              unknown rate.
--   lost_ns            DOUBLE  Time beyond the steady time in the runs before a dump is
--                              warm, median over dumps; null in cycles of unknown rate.
--   first_over_steady  DOUBLE  First run over steady time, median over dumps.
WITH levels AS (
    SELECT
        *,
        median(CASE WHEN 2 * nth > run_count THEN execute_ticks END) OVER (
            PARTITION BY dump_id, run_signature_id
        ) AS steady_ticks,
        lead(execute_ticks, 1) OVER in_order AS next_ticks,
        lead(execute_ticks, 2) OVER in_order AS third_ticks
    FROM grouped_runs
    WHERE run_count >= 20
    WINDOW in_order AS (PARTITION BY dump_id, run_signature_id ORDER BY nth)
),
-- The median of three is their sum less the least and the greatest.
marked AS (
    SELECT
        *, min(CASE
            WHEN nth <= run_count - 2 AND reaches(
                (1 + CAST(:tolerance AS DOUBLE)) * steady_ticks,
                greatest(
                    execute_ticks,
                    execute_ticks + next_ticks + third_ticks
                        - greatest(execute_ticks, next_ticks, third_ticks)
                        - least(execute_ticks, next_ticks, third_ticks)
                )
            )
            THEN nth
        END) OVER (PARTITION BY dump_id, run_signature_id) AS warm_from
    FROM levels
),
starts AS (
    SELECT
        device, pool, build, model, backend, group_value, run_name, run_signature_id,
        dump_id, ns_per_tick, run_count, steady_ticks,
        coalesce(warm_from - 1, run_count) AS warmup_runs,
        sum(CASE WHEN nth = 1 THEN execute_ticks END) AS first_ticks,
        sum(
            CASE
                WHEN nth < coalesce(warm_from, run_count + 1)
                THEN execute_ticks - steady_ticks
                ELSE 0e0
            END
        ) AS lost_ticks
    FROM marked
    GROUP BY
        device, pool, build, model, backend, group_value, run_name, run_signature_id,
        dump_id, ns_per_tick, run_count, steady_ticks, warm_from
)
SELECT
    device, pool, build, model, backend, group_value AS group,
    run_name, run_signature_id, count(*) AS dump_count,
    CAST(sum(run_count) AS BIGINT) AS run_count,
    median(warmup_runs) AS warmup_runs, max(warmup_runs) AS most_runs,
    median(first_ticks * ns_per_tick) AS first_ns,
    median(steady_ticks * ns_per_tick) AS steady_ns,
    median(lost_ticks * ns_per_tick) AS lost_ns,
    median(first_ticks / nullif(steady_ticks, 0e0)) AS first_over_steady
FROM starts
GROUP BY
    device, pool, build, model, backend, group_value, run_name, run_signature_id
ORDER BY
    device NULLS LAST, pool NULLS LAST, build, model, backend NULLS LAST,
    group_value NULLS LAST, run_name NULLS LAST, run_signature_id
