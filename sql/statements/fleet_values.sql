-- fleet_values: Values of a build, of those before it, and of reference builds.
--
-- A row per operator and dump, and per measure of a whole dump, which has no run, and a
-- counter's unit as delegate id. Rates are inverted, so that more is worse. Measures are
-- of few readings of the clock, and known to a step of it, not to half of one.
--
-- parts: lineage_recordings AS recordings, recorded_values
--
-- columns:
--   device, pool, model, backend
--   run          STRING     Name of the runs; '' for a measure.
--   event_name, delegate_id, ordinal, kind
--   op_type      STRING     Type of the operator, else its name.
--   unit
--   distance     INT        0 for the build in question, 1 for the one before, ...;
--                           null for a reference build.
--   build
--   session      STRING     Session of the recording; '' if unknown.
--   recorded_at  TIMESTAMP  Begin of the recording; null if unknown.
--   floor, half_tick
--   dump         INT        Number of the dump.
--   pair         STRING     Pair of dumps in the session; '' if none.
--   log          DOUBLE     Logarithm of the value.
SELECT
    device, pool, model, backend, run, event_name, delegate_id, ordinal, kind, op_type,
    unit, distance, build, session, recorded_at, floor, half_tick, dump, pair, log
FROM recorded_values
WHERE value IS NOT NULL
UNION ALL
SELECT
    r.device, r.pool, r.model, r.backend, '' AS run, m.name AS event_name,
    CASE WHEN m.unit <> 'ns' THEN m.unit END AS delegate_id, 0 AS ordinal, m.kind,
    m.name AS op_type,
    CASE WHEN r.ns_per_tick IS NULL THEN 'ticks' ELSE 'ns' END AS unit, r.distance,
    r.build, r.session, r.recorded_at,
    CASE WHEN m.unit = 'ns' THEN greatest(2 * r.step_ns, 1e3) ELSE 1e-300 END AS floor,
    CASE
        WHEN m.unit = 'ns' THEN r.step_ns
        WHEN m.kind = 'token_rate' THEN r.step_ns / 1e9
        ELSE 0e0
    END AS half_tick,
    m.dump_id AS dump, r.pair,
    CASE WHEN m.kind IN ('rate', 'token_rate') THEN -ln(m.value) ELSE ln(m.value) END
        AS log
FROM dump_measures AS m
JOIN recordings AS r ON r.dump_id = m.dump_id
