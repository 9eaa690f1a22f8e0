-- complete_runs: Complete runs and the time of their parts.
--
-- columns:
--   dump_id      INT     Dump the run was recorded in.
--   run_index    INT     Position of the run in its dump, from 0.
--   execute_ns   DOUBLE  Duration of Method::execute; null in cycles of unknown rate,
--                        like what follows.
--   kernel_ns    DOUBLE  Sum over its kernels (native_call_*), 0 without any.
--   delegate_ns  DOUBLE  Sum over its delegate calls, 0 without any.
SELECT
    t.dump_id, t.run_index,
    t.execute_ticks * d.ns_per_tick AS execute_ns,
    t.kernel_ticks * d.ns_per_tick AS kernel_ns,
    t.delegate_ticks * d.ns_per_tick AS delegate_ns
FROM (
    SELECT
        e.dump_id, e.run_index,
        sum(CASE WHEN s.kind = 'method' THEN e.duration_ticks ELSE 0e0 END)
            AS execute_ticks,
        sum(CASE WHEN s.kind = 'kernel' THEN e.duration_ticks ELSE 0e0 END)
            AS kernel_ticks,
        sum(CASE WHEN s.kind = 'delegate_call' THEN e.duration_ticks ELSE 0e0 END)
            AS delegate_ticks
    FROM complete_run_events AS e
    JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
    GROUP BY e.dump_id, e.run_index
) AS t
JOIN dumps AS d ON d.dump_id = t.dump_id
