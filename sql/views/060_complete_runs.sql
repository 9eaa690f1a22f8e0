-- complete_runs: Complete runs and the time of their parts.
--
-- A run is complete if it has a Method::execute and no flagged event: only such a run
-- can be split into parts. A failed run has kernels but no Method::execute.
--
-- columns:
--   dump_id, run_index, run_signature_id
--   execute_ns   DOUBLE  Duration of Method::execute; null in cycles of unknown rate,
--                        like the next columns.
--   kernel_ns    DOUBLE  Sum over its kernels, 0 without any.
--   delegate_ns  DOUBLE  Sum over its delegate calls, 0 without any.
SELECT
    t.dump_id, t.run_index, t.run_signature_id,
    t.execute_ticks * d.ns_per_tick AS execute_ns,
    t.kernel_ticks * d.ns_per_tick AS kernel_ns,
    t.delegate_ticks * d.ns_per_tick AS delegate_ns
FROM run_totals AS t
JOIN dumps AS d ON d.dump_id = t.dump_id
