-- states: The states of the device in the dumps of builds that were recorded apart.
--
-- Reads compared_dumps and relative_values. Builds were recorded apart if fewer than
-- half of the dumps of either were captured while the other was being recorded; where a
-- time is unknown, if all dumps state a session and no session has both. The function
-- pair_states tells the state of a dump by its operators, and that of a method by its
-- kernels and delegates.
--
-- columns:
--   dump_id         INT     Number of the dump.
--   run             STRING  Name of the runs that holds across builds.
--   kernel_state    DOUBLE  How far the device was from its usual state in the base, in
--                           log time, by its kernels.
--   delegate_state  DOUBLE  The same by the operators of its delegates.
--   method_state    DOUBLE  The same of a method, of both by their time.
--   kernel_shift    DOUBLE  The median of kernel_state over the dumps of the head; null
--                           without any.
--   delegate_shift  DOUBLE  That of delegate_state.
--   method_shift    DOUBLE  That of method_state.
WITH spans AS (
    SELECT
        c.*, d.captured_at, d.session,
        CAST(2 * row_number() OVER (ORDER BY c.dump_id) + c.is_head AS DOUBLE)
            AS dump_number,
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
    SELECT r.*
    FROM relative_values AS r
    JOIN recordings AS t
        ON t.device = r.device AND t.model = r.model
        AND t.backend IS NOT DISTINCT FROM r.backend
    WHERE t.is_apart AND r.value IS NOT NULL AND r.reference IS NULL
),
-- One number tells of an operator: itself, its type (0 for what only holds others), and
-- whether a delegate runs it.
numbered AS (
    SELECT
        run_signature_id, event_signature_id,
        16777216e0 * 2 * dense_rank() OVER (
            ORDER BY event_name, delegate_id NULLS LAST, ordinal
        )
        + CASE
            WHEN kind IN ('method', 'delegate_call') THEN 0
            ELSE 2 * dense_rank() OVER (ORDER BY coalesce(op_type, event_name))
        END
        + CASE WHEN kind IN ('delegate_op', 'delegate_call') THEN 1 ELSE 0 END AS number
    FROM (
        SELECT DISTINCT
            run_signature_id, event_signature_id, event_name, delegate_id, ordinal,
            kind, op_type
        FROM recorded_apart
    ) AS o
)
SELECT
    d.dump_id, e.run, e.s.kernel_state, e.s.delegate_state,
    e.s.method_state, e.s.kernel_shift, e.s.delegate_shift, e.s.method_shift
FROM (
    SELECT
        m.run, explode(pair_states(array_agg(array(
            d.dump_number, o.number + CASE WHEN m.unit = 'ns' THEN 16777216 ELSE 0 END,
            m.half_tick, ln(greatest(m.value, m.half_tick))
        )))) AS s
    FROM recorded_apart AS m
    JOIN spans AS d ON d.dump_id = m.dump_id
    JOIN numbered AS o
        ON o.run_signature_id = m.run_signature_id
        AND o.event_signature_id = m.event_signature_id
    GROUP BY m.device, m.model, m.backend, m.run
) AS e
JOIN spans AS d ON d.dump_number = e.s.dump
