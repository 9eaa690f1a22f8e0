-- places: The names of rows, and the complete runs of their dumps.
--
-- Reads grouped_dumps.
--
-- columns:
--   place_id, device, pool, build, model, backend, group_value
--   run_count            BIGINT  Complete runs.
--   execute_ns           DOUBLE  Sum of their durations; null if any are in cycles of
--                                unknown rate.
--   recorded_run_count   BIGINT  Runs among them of dumps with an ETRecord.
--   recorded_execute_ns  DOUBLE  Sum of their durations, null likewise.
--   untimed_count        BIGINT  Dumps of complete runs in cycles of unknown rate.
SELECT
    d.place_id, d.device, d.pool, d.build, d.model, d.backend, d.group_value,
    CAST(sum(r.run_count) AS BIGINT) AS run_count,
    whole_sum(r.execute_ticks * d.ns_per_tick) AS execute_ns,
    CAST(sum(CASE WHEN d.etrecord_id IS NOT NULL THEN r.run_count ELSE 0 END) AS BIGINT)
        AS recorded_run_count,
    whole_sum(
        CASE
            WHEN d.etrecord_id IS NOT NULL THEN r.execute_ticks * d.ns_per_tick
            ELSE 0e0
        END
    ) AS recorded_execute_ns,
    count(CASE WHEN d.ns_per_tick IS NULL THEN 1 END) AS untimed_count
FROM grouped_dumps AS d
JOIN (
    SELECT dump_id, count(*) AS run_count, sum(execute_ticks) AS execute_ticks
    FROM run_totals
    WHERE dump_id IN (SELECT dump_id FROM grouped_dumps)
    GROUP BY dump_id
) AS r ON r.dump_id = d.dump_id
GROUP BY
    d.place_id, d.device, d.pool, d.build, d.model, d.backend, d.group_value
