-- pair_values: Values of operators in the dumps of two builds and their references.
--
-- params:
--   run
--
-- filters: compared_dumps
--
-- parts: pair_recordings AS recordings, recorded_values
--
-- columns:
--   device, pool, model, backend, run, event_name, delegate_id, ordinal, kind
--   op_type         STRING     Type of the operator, else its name.
--   unit
--   distance        INT        0 in the head, 1 in the base; null for a reference build.
--   build
--   session         STRING     Session of the recording; '' if unknown.
--   recorded_at     TIMESTAMP  Begin of the recording; null if unknown.
--   floor, half_tick
--   dump            INT        Number of the dump.
--   pair            STRING     Pair of dumps in the session; '' if none.
--   instruction_id, value
--   log             DOUBLE     Its logarithm; below half a tick it counts as that.
SELECT
    device, pool, model, backend, run, event_name, delegate_id, ordinal, kind, op_type,
    unit, distance, build, session, recorded_at, floor, half_tick, dump, pair,
    instruction_id, value, log
FROM recorded_values
WHERE (build IN (CAST(:base AS STRING), CAST(:head AS STRING))
        OR build_role = 'reference')
    AND is_chosen(:run, run)
