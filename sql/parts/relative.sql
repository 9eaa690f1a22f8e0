-- relative: What each dump of two builds has of each operator, relative to a reference.
--
-- Reads absolute. Where both builds were recorded beside a reference
-- build, a value is divided by how far the reference was from its usual level (the
-- median over the sessions) in the dump's session: the state of the device cancels. The
-- values of dumps without the reference are then left out. Of several reference builds
-- in a session the last one by name counts.
--
-- columns:
--   level               STRING  method, delegate or operator.
--   dump_id             INT     Dump it was measured in.
--   is_head             INT     1 for a dump of the head, 0 for one of the base.
--   device              STRING  Name of the device.
--   pool                STRING  Device pool; null if none.
--   model               STRING  Name of the model.
--   backend             STRING  Backend of the model; null if none.
--   run                 STRING  Name of the runs that holds across builds.
--   event_name          STRING  Name of the operator, else its delegate id.
--   delegate_id         STRING  Delegate debug id; null outside delegates.
--   ordinal             INT     Which of the build's instructions of that name and
--                               delegate id, from 1.
--   kind                STRING  Kind of the events.
--   instruction_id      INT     Instruction id in this build; null outside the program.
--   run_signature_id    BIGINT  Signature of the runs.
--   event_signature_id  BIGINT  Signature of the events.
--   unit                STRING  ns, or ticks of a clock of unknown rate.
--   value               DOUBLE  Time in that unit; null without enough events.
--   floor               DOUBLE  Least value that can be compared.
--   half_tick           DOUBLE  Half of what the clock can tell apart.
--   op_type             STRING  Type of the operator; null for calls and methods.
--   reference           STRING  Reference build that the value is relative to; null if
--                               none.
WITH levels AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, unit, session,
        reference_build, median(ln(greatest(value, half_tick))) AS level
    FROM absolute
    WHERE is_head IS NULL AND value IS NOT NULL
    GROUP BY
        device, model, backend, run, event_name, delegate_id, ordinal, unit, session,
        reference_build
),
sessions AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, unit, session,
        max(reference_build) AS reference, max_by(level, reference_build) AS level
    FROM levels
    GROUP BY
        device, model, backend, run, event_name, delegate_id, ordinal, unit, session
),
placed AS (
    SELECT a.*, s.reference, s.level AS reference_level
    FROM absolute AS a
    LEFT JOIN sessions AS s
        ON s.device = a.device AND s.model = a.model
        AND s.backend IS NOT DISTINCT FROM a.backend AND s.run = a.run
        AND s.event_name = a.event_name
        AND s.delegate_id IS NOT DISTINCT FROM a.delegate_id
        AND s.ordinal = a.ordinal AND s.unit = a.unit AND s.session = a.session
    WHERE a.is_head IS NOT NULL
),
usual AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, unit,
        median(reference_level) AS level
    FROM (
        SELECT
            device, model, backend, run, event_name, delegate_id, ordinal, unit,
            session,
            reference_level, min(is_head) AS low, max(is_head) AS high
        FROM placed
        WHERE reference_level IS NOT NULL AND value IS NOT NULL
        GROUP BY
            device, model, backend, run, event_name, delegate_id, ordinal, unit,
            session,
            reference_level
    ) AS s
    GROUP BY device, model, backend, run, event_name, delegate_id, ordinal, unit
    HAVING min(low) < max(high)
)
SELECT
    p.level, p.dump_id, p.is_head, p.device, p.pool, p.model, p.backend,
    p.run, p.event_name, p.delegate_id, p.ordinal, p.kind, p.instruction_id,
    p.run_signature_id, p.event_signature_id, p.unit,
    CASE
        WHEN u.level IS NULL THEN p.value
        ELSE p.value * exp(u.level - p.reference_level)
    END AS value,
    p.floor, p.half_tick, p.op_type,
    CASE WHEN u.level IS NOT NULL THEN p.reference END AS reference
FROM placed AS p
LEFT JOIN usual AS u
    ON u.device = p.device AND u.model = p.model
    AND u.backend IS NOT DISTINCT FROM p.backend AND u.run = p.run
    AND u.event_name = p.event_name
    AND u.delegate_id IS NOT DISTINCT FROM p.delegate_id
    AND u.ordinal = p.ordinal AND u.unit = p.unit
