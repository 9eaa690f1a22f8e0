-- states: The states of the device in the dumps of builds that were recorded apart.
--
-- Reads compared_dumps and referred. Builds were recorded apart if fewer than half of
-- the dumps of either were captured while the other was being recorded; where a time is
-- unknown, if all dumps state a session and no session has both builds. The function
-- pair_states tells the state of a dump by its operators, and that of a method by its
-- kernels and delegates.
--
-- columns:
--   dump_id      INT     Number of the dump.
--   run          STRING  Name of the runs that holds across builds.
--   unit         STRING  kernels, delegates or whole, which is what holds both.
--   state        DOUBLE  How far the device was from its usual state in the base, in
--                        log time.
--   state_shift  DOUBLE  The median of that over the dumps of the head; null without
--                        any.
WITH spans AS (
    SELECT
        c.*, d.captured_at, d.session,
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
numbered AS (
    SELECT
        r.device, r.model, r.backend, r.run, r.dump_id, r.is_head,
        CASE WHEN r.kind IN ('delegate_op', 'delegate_call') THEN 1 ELSE 0 END AS unit,
        CASE
            WHEN r.kind IN ('method', 'delegate_call') THEN -1
            ELSE dense_rank() OVER (
                PARTITION BY r.device, r.model, r.backend, r.run
                ORDER BY coalesce(r.op_type, r.event_name)
            )
        END AS op_type,
        dense_rank() OVER (
            PARTITION BY r.device, r.model, r.backend, r.run
            ORDER BY r.event_name, r.delegate_id NULLS LAST, r.ordinal, r.unit
        ) AS operator,
        ln(greatest(r.value, r.half_tick)) AS y
    FROM referred AS r
    JOIN recordings AS t
        ON t.device = r.device AND t.model = r.model
        AND t.backend IS NOT DISTINCT FROM r.backend
    WHERE t.is_apart AND r.value IS NOT NULL AND r.reference IS NULL
)
SELECT
    CAST(s.dump_id AS INT) AS dump_id, run,
    CASE s.unit WHEN 0 THEN 'kernels' WHEN 1 THEN 'delegates' ELSE 'whole' END AS unit,
    s.state, s.moved AS state_shift
FROM (
    SELECT
        run, explode(pair_states(array_sort(array_agg(array(
            CAST(dump_id AS DOUBLE), CAST(is_head AS DOUBLE), CAST(unit AS DOUBLE),
            CAST(op_type AS DOUBLE), CAST(operator AS DOUBLE), y
        ))))) AS s
    FROM numbered
    GROUP BY device, model, backend, run
) AS e
