-- recorded_values: Values of operators in recorded dumps, to be judged.
--
-- Reads recordings. A row per operator and dump. The type of what is no operator is its
-- name.
--
-- columns:
--   device, pool, model, backend, run, event_name, delegate_id, ordinal, kind
--   op_type         STRING     Type of the operator, else its name.
--   unit
--   distance        INT        See recordings.
--   build, build_role
--   session         STRING     Session of the recording; '' if unknown.
--   recorded_at     TIMESTAMP  Begin of the recording; null if unknown.
--   floor, half_tick
--   dump            INT        Number of the dump.
--   pair            STRING     Pair of dumps in the session; '' if none.
--   instruction_id, value
--   log             DOUBLE     Its logarithm; below half a tick it counts as that.
SELECT
    r.device, r.pool, r.model, r.backend, o.run, o.event_name, o.delegate_id, o.ordinal,
    o.kind, coalesce(o.op_type, o.event_name) AS op_type, o.unit, r.distance, o.build,
    o.build_role, r.session, r.recorded_at, o.floor, o.half_tick, o.dump_id AS dump,
    r.pair, o.instruction_id, o.value, ln(greatest(o.value, o.half_tick)) AS log
FROM operator_stats AS o
JOIN recordings AS r ON r.dump_id = o.dump_id
WHERE o.kind NOT IN ('operator_call', 'load', 'delegate_phase')
