-- stability: Steadiness of a model on a device, and what noise hides.
--
-- The durations are those of Method::execute, after warm-up (from the sixth run on), in
-- complete runs of one name. The value of a dump is the median of its runs, if at least
-- 20 are left; other dumps do not count. The first figures are those of the dumps'
-- values. Figures with the prefix run_ are those of the runs within a dump, as medians
-- over dumps. The last figures show how times drift from night to night: over the dumps
-- of the build, and over the chosen builds in the order of builds_in_order, without
-- reference builds.
--
-- The score is that of ExecuTorch's benchmark tooling: 0.5 max(0, 100 - 1000 cv) + 0.25
-- max(0, 100 - 50 (max_over_min - 1)) + 0.25 max(0, 100 - 100 (p99_over_p50 - 1)); 90
-- is excellent, 80 good, 60 moderate.
--
-- A note lists what makes comparisons doubtful: fewer than 8 dumps; a smallest
-- detectable change above 10 %; drift of 3 % or more within dumps, over the dumps of
-- the build (if more than iqr_share) or over builds (if more than build_step); levels,
-- if whole dumps run at one of two speeds, as with steps of the clock frequency (the
-- largest gap between neighbouring values, without 8 % of the dumps at either end, is
-- above 8 % and above 8 times the median gap).
--
-- filters: levelled_dumps
--
-- portions: device
--
-- next: variance_components, outlier_runs
--
-- columns:
--   device, model, backend, run, build
--   dump_count          BIGINT  Dumps that count, at least 1.
--   run_count           BIGINT  Runs after warm-up in them.
--   p50_ns              DOUBLE  Median of the dumps' values, nanoseconds; null in
--                               cycles of unknown rate.
--   cv                  DOUBLE(share)  Standard deviation over mean of the dumps'
--                               values, a share; null for one dump; lower is better, as
--                               in the later columns except the score.
--   iqr_share
--   p99_over_p50        DOUBLE  99th percentile over median, at least 1.
--   max_over_min        DOUBLE  Highest over lowest; null if that is 0.
--   score               DOUBLE  See above, 0 to 100; null for a single dump.
--   run_cv              DOUBLE(share)  Like cv, of the runs within a dump.
--   run_iqr_share       DOUBLE  Like iqr_share.
--   run_p99_over_p50    DOUBLE  Like p99_over_p50.
--   run_max_over_min    DOUBLE  Like max_over_min.
--   drift               DOUBLE(change)  Change within a dump, as a share: median of the
--                               last third of the runs over the first third's, less 1.
--   level_gap           DOUBLE(share)  Distance of two levels of dumps, as a share;
--                               null if there is one level.
--   level_steps         BIGINT  How often dumps went from one level to the other, in
--                               order of time; 0 without levels.
--   minimum_detectable  DOUBLE(share)  Change that as many dumps on either side could
--                               show, as a share; null with fewer than 5.
--   note                STRING  Reasons to doubt comparisons; otherwise null.
--   dump_drift          DOUBLE(change)  Change over the dumps of the build, as a share:
--                               median of the last third in order of time over the
--                               first third's, less 1; null with fewer than 6 dumps.
--   change              DOUBLE(change)  Median of the dumps' values over the previous
--                               build's, less 1; null for the first build.
--   build_count         BIGINT  Builds of the model's runs on the device.
--   build_step          DOUBLE(share)  Median size of the changes from build to build;
--                               null with one build.
--   build_drift         DOUBLE(change)  Change over these builds, as a share: median of
--                               the last third over the first third's, less 1; null
--                               with fewer than 6 builds.
WITH figures AS (
    SELECT
        group_id, device, model, backend, run, build, count(*) AS dump_count,
        median(value) AS typical,
        CAST(sum(run_count) AS BIGINT) AS run_count, median(value_ns) AS p50_ns,
        variation(value, excess) AS cv,
        quartile_spread(value) AS iqr_share,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY value)
            / nullif(median(value), 0e0) AS p99_over_p50,
        max(value) / nullif(min(value), 0e0) AS max_over_min,
        median(cv) AS run_cv, median(iqr_share) AS run_iqr_share,
        median(p99_over_p50) AS run_p99_over_p50,
        median(max_over_min) AS run_max_over_min, median(drift) AS drift,
        exp(max(level_gap)) - 1 AS level_gap,
        smallest_change(array_sort(array_agg(y))) AS smallest,
        count(CASE WHEN is_slow <> was_slow THEN 1 END) AS level_steps,
        CASE WHEN count(*) >= 6 THEN drift(value, nth, group_count) END AS dump_drift
    FROM (
        SELECT
            *, lag(is_slow) OVER in_order AS was_slow,
            row_number() OVER in_order AS nth,
            value - min(value) OVER (PARTITION BY group_id) AS excess
        FROM levelled_dumps
        WINDOW in_order AS (
            PARTITION BY group_id ORDER BY captured_at NULLS LAST, dump_id
        )
    ) AS d
    GROUP BY group_id, device, model, backend, run, build
),
-- The builds of a series: all of a model's on a device, reference builds apart.
steps AS (
    SELECT
        f.group_id, f.typical, b.build_role, f.device, f.model, f.backend, f.run,
        f.typical / nullif(lag(f.typical) OVER in_order, 0e0) - 1 AS change,
        row_number() OVER in_order AS nth,
        count(*) OVER (
            PARTITION BY f.device, f.model, f.backend, f.run, b.build_role
        ) AS build_count
    FROM figures AS f
    JOIN builds_in_order AS b ON b.build = f.build
    WINDOW in_order AS (
        PARTITION BY f.device, f.model, f.backend, f.run, b.build_role
        ORDER BY b.position
    )
),
histories AS (
    SELECT
        group_id, change, build_count,
        median(abs(change)) OVER (
            PARTITION BY device, model, backend, run, build_role
        ) AS build_step,
        CASE WHEN build_count >= 6 THEN
            median(CASE WHEN 3 * nth > 2 * build_count THEN typical END) OVER (
                PARTITION BY device, model, backend, run, build_role
            ) / nullif(
                median(CASE WHEN 3 * nth <= build_count THEN typical END) OVER (
                    PARTITION BY device, model, backend, run, build_role
                ), 0e0
            ) - 1
        END AS build_drift
    FROM steps
),
scores AS (
    SELECT
        f.*, h.change, h.build_count, h.build_step, h.build_drift,
        exp(f.smallest) - 1 AS minimum_detectable,
        CASE WHEN f.cv IS NOT NULL THEN
            5e-1 * greatest(100 - 1000 * f.cv, 0e0)
            + 25e-2 * greatest(100 - 50 * (f.max_over_min - 1), 0e0)
            + 25e-2 * greatest(100 - 100 * (f.p99_over_p50 - 1), 0e0)
        END AS score
    FROM figures AS f
    JOIN histories AS h ON h.group_id = f.group_id
)
SELECT
    device, model, backend, run, build, dump_count, run_count, p50_ns,
    cv, iqr_share, p99_over_p50, max_over_min, score,
    run_cv, run_iqr_share, run_p99_over_p50, run_max_over_min,
    drift, level_gap, level_steps, minimum_detectable,
    nullif(substr(
        CASE WHEN dump_count < 8 THEN '; fewer than 8 dumps' ELSE '' END
        || CASE WHEN minimum_detectable > 1e-1 THEN '; hides changes below '
            || CAST(CAST(round(100 * minimum_detectable) AS INT) AS STRING) || ' %'
            ELSE '' END
        || CASE WHEN reaches(1 + abs(drift), 1.03e0)
            THEN '; drifts within dumps' ELSE '' END
        || CASE WHEN reaches(1 + abs(dump_drift), 1.03e0)
            AND abs(dump_drift) > iqr_share THEN '; drifts over the dumps' ELSE '' END
        || CASE WHEN reaches(1 + abs(build_drift), 1.03e0)
            AND abs(build_drift) > build_step THEN '; drifts over builds' ELSE '' END
        || CASE WHEN level_gap > 0 THEN '; dumps run at two levels' ELSE '' END, 3
    ), '') AS note,
    dump_drift, change, build_count, build_step, build_drift
FROM scores
ORDER BY device, model, backend NULLS LAST, run, build
