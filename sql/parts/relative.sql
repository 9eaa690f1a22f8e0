-- relative: Values of two builds' dumps by operator, relative to a reference.
--
-- Reads recorded_dumps and absolute. Where both builds were recorded with a reference
-- build, a value is divided by the ratio of the reference in the dump's session to its
-- usual level (the median over sessions), which removes the state of the device. Values
-- of dumps without the reference are then left out. Of several reference builds in a
-- session, the last one by name counts.
--
-- columns:
--   level  STRING  method, delegate or operator.
--   dump_id, is_head, device, pool, model, backend, run, event_name, delegate_id,
--   ordinal, kind, instruction_id, run_signature_id, event_signature_id, unit, value,
--   floor, half_tick, op_type, reference
WITH levels AS (
    SELECT
        a.device, a.model, a.backend, a.run, a.event_name, a.delegate_id, a.ordinal,
        a.unit,
        r.session, r.reference, median(ln(greatest(a.value, a.half_tick))) AS level
    FROM absolute AS a
    JOIN recorded_dumps AS r ON r.dump_id = a.dump_id
    WHERE a.is_head IS NULL AND a.value IS NOT NULL
    GROUP BY
        a.device, a.model, a.backend, a.run, a.event_name, a.delegate_id, a.ordinal,
        a.unit,
        r.session, r.reference
),
sessions AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, unit, session,
        max(reference) AS reference, max_by(level, reference) AS level
    FROM levels
    GROUP BY
        device, model, backend, run, event_name, delegate_id, ordinal, unit, session
),
usual AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, unit,
        median(level) AS level
    FROM (
        SELECT
            s.device, s.model, s.backend, s.run, s.event_name, s.delegate_id, s.ordinal,
            s.unit, s.session, s.level, min(a.is_head) AS low, max(a.is_head) AS high
        FROM sessions AS s
        JOIN recorded_dumps AS r ON r.session = s.session
        JOIN absolute AS a
            ON a.dump_id = r.dump_id AND same_operator(a, s) AND a.unit = s.unit
        WHERE a.is_head IS NOT NULL AND a.value IS NOT NULL
        GROUP BY
            s.device, s.model, s.backend, s.run, s.event_name, s.delegate_id, s.ordinal,
            s.unit, s.session, s.level
    ) AS s
    GROUP BY device, model, backend, run, event_name, delegate_id, ordinal, unit
    HAVING min(low) < max(high)
)
SELECT
    a.level, a.dump_id, a.is_head, a.device, a.pool, a.model, a.backend,
    a.run, a.event_name, a.delegate_id, a.ordinal, a.kind, a.instruction_id,
    a.run_signature_id, a.event_signature_id, a.unit,
    CASE WHEN u.level IS NULL THEN a.value ELSE a.value * exp(u.level - s.level) END
        AS value,
    a.floor, a.half_tick, a.op_type,
    CASE WHEN u.level IS NOT NULL THEN s.reference END AS reference
FROM absolute AS a
JOIN recorded_dumps AS r ON r.dump_id = a.dump_id
LEFT JOIN sessions AS s
    ON same_operator(s, a) AND s.unit = a.unit AND s.session = r.session
LEFT JOIN usual AS u ON same_operator(u, a) AND u.unit = a.unit
WHERE a.is_head IS NOT NULL
