-- named_events: Profile events with the names of their dump and signature.
--
-- columns:
--   dump_id, captured_at, device, pool, build, model, backend, run_signature_id,
--   event_signature_id
--   event_name          STRING  Name of the event, else its delegate id.
--   instruction_id, delegate_id, kind, run_index
--   occurrence          INT     0, 1, ... where the signature repeats within the run.
--   start_offset_ticks  BIGINT  Start after the run's first start, in ticks.
--   duration_ticks      BIGINT  Duration in ticks of the dump's clock.
--   duration_ns         DOUBLE  Duration in nanoseconds; null if flagged, in cycles of
--                               unknown rate, and where the value is not a time.
--   flags               INT     0, or bits: 1 32-bit wrap corrected, 2 end before
--                               start, 4 longer than 2^63.
--   op_type, module_path
--   unit                STRING  Unit of the value, if it is not in ticks of the dump's
--                               clocks; of counters it is none of time.
SELECT
    e.dump_id, d.captured_at, d.device, d.pool, d.build, d.model, d.backend,
    e.run_signature_id, e.event_signature_id,
    s.event_name, s.instruction_id, s.delegate_id, s.kind,
    e.run_index, e.occurrence, e.start_offset_ticks, e.duration_ticks,
    CASE WHEN e.flags <= 1 THEN e.duration_ticks * tick_ns(s, d) END AS duration_ns,
    e.flags, s.op_type, m.module_path, s.unit
FROM events AS e
JOIN named_dumps AS d ON d.dump_id = e.dump_id
JOIN named_event_signatures AS s ON s.event_signature_id = e.event_signature_id
LEFT JOIN own_modules AS m ON m.etrecord_id = d.etrecord_id AND same_event(m, e)
