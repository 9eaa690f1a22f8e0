-- steady_dumps: Steadiness of the runs of the chosen dumps, after warm-up.
--
-- The durations are those of Method::execute in complete runs of one run signature,
-- from the sixth run on, if there are at least 20 of them. Of several signatures of one
-- name in a dump, the one with the most runs counts. All columns except the value are
-- shares, so they also hold in cycles of unknown rate.
--
-- params:
--   run  STRING[] OF named_run_signatures.run = NULL  Only these runs, e.g. 'Execute
--                 #2'.
--
-- filters: chosen_dumps
--
-- columns:
--   dump_id       INT        Number of the dump.
--   device        STRING     Name of the device.
--   model         STRING     Name of the model.
--   backend       STRING     Backend of the model; null if none.
--   run           STRING     Name of the runs, stable across builds.
--   build         STRING     Id of the build.
--   captured_at   TIMESTAMP  Time of recording; null if unknown.
--   run_count     BIGINT     Runs that count, at least 20.
--   value         DOUBLE     Median duration: nanoseconds, ticks in cycles of unknown
--                            rate.
--   value_ns      DOUBLE     Median duration in nanoseconds; null in cycles of unknown
--                            rate.
--   cv            DOUBLE     Standard deviation over mean; null, like the next columns,
--                            where the divisor is 0.
--   iqr_share     DOUBLE     75th less 25th percentile over median.
--   p99_over_p50  DOUBLE     99th percentile over median.
--   max_over_min  DOUBLE     Longest over shortest.
--   drift         DOUBLE     Median of the last third of the runs over the first
--                            third's, less 1.
WITH noise AS (
    SELECT
        dump_id, run_signature_id, run_count, median(value) AS value,
        sqrt(greatest(
            exact_sum(excess * excess)
                - exact_sum(excess) * exact_sum(excess) / count(*), 0e0
        ) / nullif(count(*) - 1, 0))
            / nullif(min(value) + exact_sum(excess) / count(*), 0e0) AS cv,
        (percentile_cont(0.75) WITHIN GROUP (ORDER BY value)
            - percentile_cont(0.25) WITHIN GROUP (ORDER BY value))
            / nullif(median(value), 0e0) AS iqr_share,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY value)
            / nullif(median(value), 0e0) AS p99_over_p50,
        max(value) / nullif(min(value), 0e0) AS max_over_min,
        median(CASE WHEN 3 * k > 2 * run_count THEN value END) / nullif(
            median(CASE WHEN 3 * k <= run_count THEN value END), 0e0
        ) - 1 AS drift
    FROM (
        SELECT
            *, value - min(value) OVER (PARTITION BY dump_id, run_signature_id)
                AS excess
        FROM (
            SELECT
                t.dump_id, r.run_signature_id,
                t.execute_ticks * coalesce(d.ns_per_tick, 1e0) AS value,
                row_number() OVER (
                    PARTITION BY t.dump_id, r.run_signature_id ORDER BY t.run_index
                ) - 5 AS k,
                count(*) OVER (PARTITION BY t.dump_id, r.run_signature_id) - 5
                    AS run_count
            FROM run_totals AS t
            JOIN runs AS r ON r.dump_id = t.dump_id AND r.run_index = t.run_index
            JOIN dumps AS d ON d.dump_id = t.dump_id
            WHERE t.dump_id IN (SELECT dump_id FROM chosen_dumps)
        ) AS r
        WHERE k > 0 AND run_count >= 20
    ) AS s
    GROUP BY dump_id, run_signature_id, run_count
),
named AS (
    SELECT
        n.*, s.run,
        row_number() OVER (
            PARTITION BY n.dump_id, s.run ORDER BY n.run_count DESC, n.run_signature_id
        ) AS choice
    FROM noise AS n
    JOIN named_run_signatures AS s
        ON s.dump_id = n.dump_id AND s.run_signature_id = n.run_signature_id
    WHERE CAST(:run AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:run AS ARRAY<STRING>), s.run)
)
SELECT
    n.dump_id, d.device, d.model, d.backend, n.run, d.build, d.captured_at,
    n.run_count, n.value, CASE WHEN d.ns_per_tick > 0 THEN n.value END AS value_ns,
    n.cv, n.iqr_share, n.p99_over_p50, n.max_over_min, n.drift
FROM named AS n
JOIN named_dumps AS d ON d.dump_id = n.dump_id
WHERE n.choice = 1
