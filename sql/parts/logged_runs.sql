-- logged_runs: Names of runs in dumps that log allocations; most runtimes do not.
--
-- Reads grouped_dumps.
--
-- columns:
--   place_id, device, pool, build, model, backend, group_value, run_name
--   dump_count  BIGINT  Dumps that log allocations.
--   run_count   BIGINT  Runs of the name in them.
SELECT
    d.place_id, d.device, d.pool, d.build, d.model, d.backend, d.group_value,
    r.name AS run_name, count(DISTINCT r.dump_id) AS dump_count, count(*) AS run_count
FROM runs AS r
JOIN grouped_dumps AS d ON d.dump_id = r.dump_id
WHERE r.dump_id IN (SELECT dump_id FROM allocations)
GROUP BY
    d.place_id, d.device, d.pool, d.build, d.model, d.backend, d.group_value, r.name
