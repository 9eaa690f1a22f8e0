-- named_event_stats: Exact statistics per dump, run and event signature, with names.
--
-- columns:
--   dump_id, captured_at, device, pool, build, model, backend, event_signature_id
--   event_name     STRING  Name of the events, else their delegate id.
--   instruction_id, delegate_id, kind
--   sample_count   BIGINT  Events counted (flagged ones left out), at least 1.
--   zero_count     BIGINT  Events of duration zero among them.
--   min_ns         DOUBLE  Shortest duration; null in cycles of unknown rate, like all
--                          that follow.
--   max_ns         DOUBLE  Longest duration.
--   sum_ns         DOUBLE  Sum of durations.
--   p10_ns         DOUBLE  10th percentile, linear interpolation.
--   p50_ns         DOUBLE  Median.
--   p90_ns, p95_ns, p99_ns, steady_count, steady_p50_ns
--   resolution_ns  DOUBLE  Coarseness of the clock that timed the events, at least one
--                          tick.
--   run_signature_id, run, op_type, module_path
SELECT
    t.dump_id, t.captured_at, t.device, t.pool, t.build, t.model, t.backend,
    t.event_signature_id, t.event_name, t.instruction_id, t.delegate_id, t.kind,
    t.sample_count, t.zero_count,
    t.min_ticks * t.tick_ns AS min_ns,
    t.max_ticks * t.tick_ns AS max_ns,
    t.sum_ticks * t.tick_ns AS sum_ns,
    t.p10_ticks * t.tick_ns AS p10_ns,
    t.p50_ticks * t.tick_ns AS p50_ns,
    t.p90_ticks * t.tick_ns AS p90_ns,
    t.p95_ticks * t.tick_ns AS p95_ns,
    t.p99_ticks * t.tick_ns AS p99_ns,
    t.steady_count,
    t.steady_p50_ticks * t.tick_ns AS steady_p50_ns,
    t.resolution_ticks * t.tick_ns AS resolution_ns,
    t.run_signature_id, t.run, t.op_type, t.module_path
FROM (
    SELECT
        x.*, d.captured_at, d.device, d.pool, d.build, d.model, d.backend, r.run,
        s.event_name, s.instruction_id, s.delegate_id, s.kind, s.op_type,
        m.module_path,
        tick_ns(s, d) AS tick_ns,
        resolution_ticks(s, d) AS resolution_ticks
    FROM event_stats AS x
    JOIN named_dumps AS d ON d.dump_id = x.dump_id
    JOIN named_run_signatures AS r
        ON r.dump_id = x.dump_id AND r.run_signature_id = x.run_signature_id
    JOIN named_event_signatures AS s ON s.event_signature_id = x.event_signature_id
    LEFT JOIN own_modules AS m ON m.etrecord_id = d.etrecord_id AND same_event(m, x)
) AS t
