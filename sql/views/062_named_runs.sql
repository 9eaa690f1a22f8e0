-- named_runs: Runs with the names of their dump, their start and their duration.
--
-- columns:
--   dump_id, captured_at, device, pool, build, model, backend, run_index,
--   run_signature_id
--   run          STRING  Name of the run, stable across builds; see
--                        named_run_signatures.
--   start_ns     DOUBLE  Start of the run by the device's clock, nanoseconds; null in
--                        cycles of unknown rate, and without a profile event.
--   execute_ns   DOUBLE  Duration of Method::execute; null in such cycles and for
--                        incomplete runs, like the next columns.
--   kernel_ns    DOUBLE  Sum over its kernels, 0 without any.
--   delegate_ns  DOUBLE  Sum over its delegate calls, 0 without any.
SELECT
    r.dump_id, d.captured_at, d.device, d.pool, d.build, d.model, d.backend,
    r.run_index, r.run_signature_id, n.run,
    CAST(r.start_ticks AS DOUBLE) * d.ns_per_tick AS start_ns,
    c.execute_ns, c.kernel_ns, c.delegate_ns
FROM runs AS r
JOIN named_dumps AS d ON d.dump_id = r.dump_id
JOIN named_run_signatures AS n
    ON n.dump_id = r.dump_id AND n.run_signature_id = r.run_signature_id
LEFT JOIN complete_runs AS c ON c.dump_id = r.dump_id AND c.run_index = r.run_index
