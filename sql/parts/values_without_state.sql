-- values_without_state: Values without the influence of the device's state.
--
-- Reads compared_dumps and relative_values. Values change only if the builds were
-- recorded apart: if fewer than half of the dumps of either build were captured while
-- the other one was being recorded, or, where a time is unknown, if all dumps state a
-- session and no session has both builds. The function pair_states estimates the state
-- of a dump from its operators, and that of a method from its kernels and delegates. On
-- a device whose state moved by less than 3 %, values stay as they are; those of a
-- method, if both kernels and delegates were steady.
--
-- columns:
--   level  STRING  method, delegate or operator.
--   dump_id, is_head, device, pool, model, backend, run, event_name, delegate_id,
--   ordinal, kind, instruction_id, run_signature_id, event_signature_id, unit, value,
--   floor, half_tick, op_type, reference, state_shift
WITH spans AS (
    SELECT
        c.*, d.captured_at, d.session,
        CAST(row_number() OVER (ORDER BY c.dump_id) AS DOUBLE) AS dump_number,
        min(CASE WHEN c.is_head = 0 THEN d.captured_at END) OVER scope AS base_start,
        max(CASE WHEN c.is_head = 0 THEN d.captured_at END) OVER scope AS base_end,
        min(CASE WHEN c.is_head = 1 THEN d.captured_at END) OVER scope AS head_start,
        max(CASE WHEN c.is_head = 1 THEN d.captured_at END) OVER scope AS head_end,
        max(c.is_head) OVER recording - min(c.is_head) OVER recording AS has_both
    FROM compared_dumps AS c
    JOIN named_dumps AS d ON d.dump_id = c.dump_id
    WINDOW
        scope AS (PARTITION BY c.device, c.model, c.backend),
        recording AS (PARTITION BY c.device, c.model, c.backend, d.session)
),
recordings AS (
    SELECT
        device, model, backend,
        CASE
            WHEN count(captured_at) = count(*) THEN least(
                avg(CASE
                    WHEN is_head = 1 AND captured_at BETWEEN base_start AND base_end
                        THEN 1e0
                    WHEN is_head = 1 THEN 0e0
                END),
                avg(CASE
                    WHEN is_head = 0 AND captured_at BETWEEN head_start AND head_end
                        THEN 1e0
                    WHEN is_head = 0 THEN 0e0
                END)
            ) < 5e-1
            ELSE count(session) = count(*) AND max(has_both) = 0
        END AS is_apart
    FROM spans
    GROUP BY device, model, backend
),
recorded_apart AS (
    SELECT s.dump_id, s.dump_number, CAST(s.is_head AS DOUBLE) AS is_head
    FROM spans AS s
    JOIN recordings AS r ON same_family(r, s)
    WHERE r.is_apart
),
-- The type of an operator is -1 for what only contains others.
typed AS (
    SELECT
        run_signature_id, event_signature_id, event_name, delegate_id, ordinal, unit,
        CASE
            WHEN kind IN ('method', 'delegate_call') THEN -1e0
            ELSE dense_rank() OVER (ORDER BY coalesce(op_type, event_name)) - 1e0
        END AS op_type,
        CASE WHEN kind IN ('delegate_op', 'delegate_call') THEN 1e0 ELSE 0e0 END
            AS is_delegated
    FROM (
        SELECT DISTINCT
            run_signature_id, event_signature_id, event_name, delegate_id, ordinal,
            kind, op_type, unit
        FROM relative_values
    ) AS o
),
numbered AS (
    SELECT
        run_signature_id, event_signature_id, unit, op_type, is_delegated,
        CAST(dense_rank() OVER (
            ORDER BY
                event_name, delegate_id NULLS LAST, ordinal, op_type, is_delegated,
                unit DESC
        ) AS DOUBLE) AS operator
    FROM typed
),
states AS (
    SELECT d.dump_id, e.run, e.s.unit, e.s.state, e.s.shift
    FROM (
        SELECT
            m.run, explode(pair_states(array_agg(array(
                d.dump_number, d.is_head, o.operator, o.op_type, o.is_delegated,
                m.half_tick, ln(greatest(m.value, m.half_tick))
            )))) AS s
        FROM relative_values AS m
        JOIN recorded_apart AS d ON d.dump_id = m.dump_id
        JOIN numbered AS o ON same_event(o, m) AND o.unit = m.unit
        WHERE m.value IS NOT NULL AND m.reference IS NULL
        GROUP BY m.device, m.model, m.backend, m.run
    ) AS e
    JOIN recorded_apart AS d ON d.dump_number = e.s.dump
    WHERE e.s.moved >= 3e-2 AND e.s.state IS NOT NULL
)
SELECT
    r.level, r.dump_id, r.is_head, r.device, r.pool, r.model, r.backend, r.run,
    r.event_name, r.delegate_id, r.ordinal, r.kind, r.instruction_id,
    r.run_signature_id, r.event_signature_id, r.unit,
    r.value * coalesce(exp(-s.state), 1e0) AS value, r.floor, r.half_tick, r.op_type,
    r.reference, s.shift AS state_shift
FROM relative_values AS r
LEFT JOIN states AS s
    ON s.dump_id = r.dump_id AND s.run = r.run AND r.reference IS NULL
    AND s.unit = CASE
        WHEN r.kind = 'method' THEN 2
        WHEN r.kind IN ('delegate_op', 'delegate_call') THEN 1
        ELSE 0
    END
