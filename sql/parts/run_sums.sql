-- run_sums: Time of the complete runs of the chosen dumps, by dump and name of the run.
--
-- Reads chosen_dumps and run_names.
--
-- columns:
--   dump_id, run
--   run_count    BIGINT  Complete runs, at least 1.
--   execute_ns   DOUBLE  Sum of Method::execute; null in cycles of unknown rate, like
--                        the next columns.
--   kernel_ns    DOUBLE  Sum over kernels.
--   delegate_ns  DOUBLE  Sum over delegate calls.
SELECT
    t.dump_id, n.run, count(*) AS run_count,
    sum(t.execute_ticks) * d.ns_per_tick AS execute_ns,
    sum(t.kernel_ticks) * d.ns_per_tick AS kernel_ns,
    sum(t.delegate_ticks) * d.ns_per_tick AS delegate_ns
FROM run_totals AS t
JOIN chosen_dumps AS d ON d.dump_id = t.dump_id
JOIN run_names AS n
    ON n.dump_id = t.dump_id AND n.run_signature_id = t.run_signature_id
GROUP BY t.dump_id, n.run, d.ns_per_tick
