-- steady_dumps: Steadiness of the runs of the chosen dumps, after warm-up.
--
-- The durations are those of Method::execute in complete runs of one run signature,
-- from the sixth run on, if there are at least 20 of them. Of several signatures of one
-- name in a dump, the one with the most runs counts. All columns except the value are
-- shares, so they also hold in cycles of unknown rate.
--
-- params:
--   run
--
-- filters: chosen_dumps
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
WITH noise AS (
    SELECT
        t.dump_id, t.run_signature_id, count(*) - 5 AS run_count,
        steadiness_of(
            t.execute_ticks * coalesce(d.ns_per_tick, 1e0), t.run_index, 5
        ) AS found
    FROM run_totals AS t
    JOIN dumps AS d ON d.dump_id = t.dump_id
    WHERE t.dump_id IN (SELECT dump_id FROM chosen_dumps)
    GROUP BY t.dump_id, t.run_signature_id
    HAVING count(*) >= 25
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
    WHERE is_chosen(:run, s.run)
)
SELECT
    n.dump_id, d.device, d.model, d.backend, n.run, d.build, d.captured_at,
    n.run_count, n.found.typical AS value,
    CASE WHEN d.ns_per_tick > 0 THEN n.found.typical END AS value_ns,
    n.found.cv, n.found.iqr_share, n.found.p99_over_p50, n.found.max_over_min,
    n.found.drift
FROM named AS n
JOIN named_dumps AS d ON d.dump_id = n.dump_id
WHERE n.choice = 1
