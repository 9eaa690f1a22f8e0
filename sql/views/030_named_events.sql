-- named_events: Profile events with the names of their dump and signature.
--
-- columns:
--   dump_id             INT        Dump the event was recorded in.
--   captured_at         TIMESTAMP  Time of recording of the dump; null if unknown.
--   device              STRING     Name of the device.
--   pool                STRING     Device pool; null if none.
--   build               STRING     Id of the build.
--   model               STRING     Name of the model.
--   backend             STRING     Backend of the model; null if none.
--   run_signature_id    BIGINT     Signature of the run.
--   event_signature_id  BIGINT     Signature of the event.
--   event_name          STRING     Name of the event, else its delegate id.
--   instruction_id      INT        Instruction id; null outside the program.
--   delegate_id         STRING     Delegate debug id; null outside delegates.
--   kind                STRING     Kind of the event.
--   run_index           INT        Position of the run in its dump, from 0.
--   occurrence          INT        0, 1, ... where the signature repeats within the
--                                  run.
--   start_offset_ticks  BIGINT     Start after the run's first start, in ticks.
--   duration_ticks      BIGINT     Duration in ticks of the dump's clock.
--   duration_ns         DOUBLE     Duration in nanoseconds; null if flagged, in cycles
--                                  of unknown rate, and where the value is no time.
--   flags               INT        0, or bits: 1 32-bit wrap corrected, 2 end before
--                                  start, 4 longer than 2^63.
--   op_type             STRING     Type of the operator: addmm, Fully Connected; null
--                                  for calls, methods and the like.
--   module_path         STRING     Module whose own nodes it runs, '' if the program's;
--                                  null if they are several, or without an ETRecord.
--   unit                STRING     Unit of the value, if it is not in ticks of the
--                                  dump's clocks; of counters it is none of time.
SELECT
    e.dump_id, d.captured_at, d.device, d.pool, d.build, d.model, d.backend,
    e.run_signature_id, e.event_signature_id,
    s.event_name, s.instruction_id, s.delegate_id, s.kind,
    e.run_index, e.occurrence, e.start_offset_ticks, e.duration_ticks,
    CASE
        WHEN e.flags > 1 THEN NULL
        WHEN s.unit IS NOT NULL THEN e.duration_ticks * s.unit_ns
        WHEN s.kind = 'delegate_op' THEN e.duration_ticks * d.delegate_ns_per_tick
        ELSE e.duration_ticks * d.ns_per_tick
    END AS duration_ns,
    e.flags, s.op_type, m.module_path, s.unit
FROM events AS e
JOIN named_dumps AS d ON d.dump_id = e.dump_id
JOIN named_event_signatures AS s ON s.event_signature_id = e.event_signature_id
LEFT JOIN own_modules AS m
    ON m.etrecord_id = d.etrecord_id AND m.run_signature_id = e.run_signature_id
    AND m.event_signature_id = e.event_signature_id
