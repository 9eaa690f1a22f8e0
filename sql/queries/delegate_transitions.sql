-- delegate_transitions: How often runs enter and leave delegates, and the cost of that.
--
-- Only complete runs count (with a Method::execute and without a flagged event). The
-- steps of a program are its kernels and delegate calls in the order of their
-- instructions. A boundary is between two steps of which at least one is a delegate
-- call; the boundary between two delegate calls belongs to the second. The cost of a
-- crossing is the time of the call less that of the delegate's own operators, if it
-- logs them: passing arguments, converting layouts, waiting for the device.
--
-- params:
--   event
--
-- filters: grouped_dumps
--
-- portions: device
--
-- next: delegation_coverage, framework_tax
--
-- columns:
--   device, pool, build, model, backend, group, run_signature_id
--   chain_index        INT     Chain of the call.
--   instruction_id     INT     Instruction of the call; null outside the program.
--   event_name         STRING  Name of the delegate call.
--   step_before        STRING  Step before it; null at the start.
--   step_after         STRING  Step after it; null at the end.
--   run_calls          DOUBLE  Calls per run: more than 1 in loops.
--   run_crossings      DOUBLE  Boundaries of the call crossed per run; lower is better,
--                              like all that follow.
--   program_crossings  DOUBLE  Boundaries of all calls together.
--   call_ns            DOUBLE  Mean time of a call, nanoseconds; null in cycles of
--                              unknown rate, like the next columns.
--   operator_ns        DOUBLE  Of that, in the delegate's own operators; null if it
--                              logs none, or if they take longer than the call, as the
--                              delegate's clock disagrees.
--   crossing_ns        DOUBLE  The rest of the call's time; null as above.
--   crossing_share     DOUBLE  The rest over Method::execute, 0 to 1; null likewise.
WITH totals AS (
    SELECT
        g.place_id, g.device, g.pool, g.build, g.model, g.backend, g.group_value,
        t.run_signature_id, t.chain_index, t.instruction_id, t.kind,
        CASE WHEN t.kind <> 'delegate_op' THEN t.event_name END AS event_name,
        CAST(sum(t.event_count) AS DOUBLE) AS calls,
        whole_sum(t.total_ns) AS total_ns
    FROM complete_run_totals AS t
    JOIN grouped_dumps AS g ON g.dump_id = t.dump_id
    WHERE t.kind IN ('method', 'kernel', 'delegate_call', 'delegate_op')
    GROUP BY
        g.place_id, g.device, g.pool, g.build, g.model, g.backend, g.group_value,
        t.run_signature_id, t.chain_index, t.instruction_id, t.kind,
        CASE WHEN t.kind <> 'delegate_op' THEN t.event_name END
),
around AS (
    SELECT
        *,
        sum(CASE WHEN kind = 'method' THEN calls END) OVER program AS run_count,
        sum(CASE WHEN kind = 'method' THEN total_ns END) OVER program AS execute_ns,
        sum(CASE WHEN kind = 'delegate_op' THEN total_ns END) OVER instruction AS op_ns,
        count(CASE WHEN kind = 'delegate_op' AND total_ns IS NULL THEN 1 END)
            OVER instruction AS unknown_count
    FROM totals
    WINDOW
        program AS (
            PARTITION BY place_id, run_signature_id
            ORDER BY total_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ),
        instruction AS (
            PARTITION BY place_id, run_signature_id, instruction_id
            ORDER BY total_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
steps AS (
    SELECT
        *,
        lag(event_name) OVER in_order AS step_before,
        lead(event_name) OVER in_order AS step_after,
        lead(kind) OVER in_order AS next_kind
    FROM around
    WHERE kind IN ('kernel', 'delegate_call')
    WINDOW in_order AS (
        PARTITION BY place_id, run_signature_id
        ORDER BY chain_index, instruction_id NULLS LAST, event_name
    )
),
crossed AS (
    SELECT
        *, CASE
            WHEN unknown_count = 0 AND op_ns <= total_ns THEN total_ns - op_ns
        END AS crossing_total_ns,
        calls / run_count * (
            CASE WHEN step_before IS NULL THEN 0 ELSE 1 END
            + CASE WHEN next_kind = 'kernel' THEN 1 ELSE 0 END
        ) AS run_crossings
    FROM steps
    WHERE kind = 'delegate_call'
),
of_programs AS (
    SELECT
        *, sum(run_crossings) OVER (
            PARTITION BY place_id, run_signature_id
            ORDER BY run_crossings
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS program_crossings
    FROM crossed
)
SELECT
    device, pool, build, model, backend, group_value AS group,
    run_signature_id, chain_index, instruction_id, event_name, step_before, step_after,
    calls / run_count AS run_calls, run_crossings, program_crossings,
    total_ns / calls AS call_ns,
    (total_ns - crossing_total_ns) / calls AS operator_ns,
    crossing_total_ns / calls AS crossing_ns,
    part_of(crossing_total_ns, execute_ns) AS crossing_share
FROM of_programs
WHERE is_chosen(:event, event_name)
ORDER BY
    place_id, run_signature_id, chain_index, instruction_id NULLS LAST, event_name
