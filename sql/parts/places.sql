-- places: What rows are called by, and the complete runs of their dumps.
--
-- Reads placed_dumps.
--
-- columns:
--   place_id             BIGINT  Place of the dumps.
--   device               STRING  Name of the device; null with group_by.
--   pool                 STRING  Device pool; null if none, and with group_by.
--   build                STRING  Id of the build.
--   model                STRING  Name of the model.
--   backend              STRING  Backend of the model; null if none.
--   group_value          STRING  What the dumps have of what group_by names, else null.
--   run_count            BIGINT  Complete runs.
--   execute_ns           DOUBLE  Sum of their durations; null if any are in cycles of
--                                unknown rate.
--   recorded_run_count   BIGINT  Of them those of dumps with an ETRecord.
--   recorded_execute_ns  DOUBLE  Sum of their durations, likewise.
--   untimed_count        BIGINT  Dumps of complete runs in cycles of unknown rate.
SELECT
    d.place_id, d.device, d.pool, d.build, d.model, d.backend, d.group_value,
    count(r.dump_id) AS run_count,
    CASE WHEN count(r.execute_ns) = count(r.dump_id) THEN sum(r.execute_ns) END
        AS execute_ns,
    count(CASE WHEN d.etrecord_id IS NOT NULL THEN r.dump_id END)
        AS recorded_run_count,
    CASE
        WHEN count(CASE
            WHEN d.etrecord_id IS NOT NULL AND r.execute_ns IS NULL THEN r.dump_id
        END) = 0
        THEN sum(CASE WHEN d.etrecord_id IS NOT NULL THEN r.execute_ns END)
    END AS recorded_execute_ns,
    count(DISTINCT CASE
        WHEN r.dump_id IS NOT NULL AND r.execute_ns IS NULL THEN r.dump_id
    END) AS untimed_count
FROM placed_dumps AS d
LEFT JOIN complete_runs AS r ON r.dump_id = d.dump_id
GROUP BY
    d.place_id, d.device, d.pool, d.build, d.model, d.backend, d.group_value
