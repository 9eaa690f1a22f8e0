-- delegation_coverage: The share of a program that runs in delegates, and the rest.
--
-- Only complete runs count (with a Method::execute and without a flagged event). There
-- is one row per delegate backend, and one per type of kernel outside delegates.
-- Operators are those inside delegates, with a call that logs none counting as one, and
-- the kernels; their shares add up to 1. The time shares of a build add up to 1 with
-- the framework tax. Only ETRecords name the backend of a delegate and the graph nodes
-- that it runs: operators that a delegate logs need not be in the program, such as the
-- reshapes that XNNPACK adds. If some dumps of a build are in cycles of unknown rate,
-- all its times are null: untimed_count is their number.
--
-- filters: grouped_dumps
--
-- parts: places, program_dumps AS chosen_dumps
-- parts: program_nodes, run_steps, run_nodes
--
-- portions: device
--
-- next: delegate_transitions
--
-- columns:
--   device, pool, build, model, backend, group
--   is_delegated      BOOLEAN  Whether the row is a delegate.
--   op_type           STRING   Type of the kernel, e.g. addmm; DELEGATE_CALL for a
--                              delegate.
--   delegate_backend  STRING   Backend of the delegate; null without an ETRecord, and
--                              for kernels.
--   call_count        BIGINT   Kernels or delegate calls in the program.
--   operator_count    BIGINT   Operators in them.
--   operator_share    DOUBLE   operator_count over all operators, 0 to 1.
--   run_calls         DOUBLE   Calls per run: more than call_count in loops.
--   run_ns            DOUBLE   Time per run, nanoseconds; null in cycles of unknown
--                              rate.
--   time_share        DOUBLE   Time over Method::execute, 0 to 1; null in such cycles.
--   untimed_count     BIGINT   Dumps with complete runs in cycles of unknown rate.
--   run_nodes         DOUBLE   Nodes of the graph that a run runs in them; null without
--                              an ETRecord.
--   node_share        DOUBLE   run_nodes over those of all rows, 0 to 1; null likewise.
WITH event_nodes AS (
    SELECT
        etrecord_id, run_signature_id, event_signature_id,
        CASE WHEN min(nodes) = max(nodes) THEN min(nodes) END AS nodes
    FROM (
        SELECT
            etrecord_id, method, run_signature_id, event_signature_id,
            exact_sum(share) AS nodes
        FROM run_nodes
        GROUP BY etrecord_id, method, run_signature_id, event_signature_id
    ) AS m
    GROUP BY etrecord_id, run_signature_id, event_signature_id
),
instructions AS (
    SELECT
        d.place_id,
        t.kind <> 'kernel' AS is_delegated, t.chain_index, t.instruction_id,
        max(CASE
            WHEN t.kind = 'kernel' THEN t.op_type
            WHEN t.kind = 'delegate_call' THEN t.event_name
        END) AS op_type,
        max(o.delegate_backend) AS delegate_backend,
        greatest(
            1, count(DISTINCT CASE WHEN t.kind = 'delegate_op' THEN t.delegate_id END)
        ) AS operator_count,
        sum(CASE WHEN t.kind <> 'delegate_op' THEN t.event_count ELSE 0 END) AS calls,
        exact_sum(CASE WHEN t.kind <> 'delegate_op' THEN t.total_ns END) AS total_ns,
        count(CASE WHEN t.kind <> 'delegate_op' AND t.total_ns IS NULL THEN 1 END)
            AS unknown_count,
        exact_sum(
            CASE WHEN t.kind <> 'delegate_op' THEN t.event_count * n.nodes END
        ) AS nodes
    FROM complete_run_totals AS t
    JOIN grouped_dumps AS d ON d.dump_id = t.dump_id
    LEFT JOIN event_origins AS o ON o.etrecord_id = d.etrecord_id AND same_event(o, t)
    LEFT JOIN event_nodes AS n ON n.etrecord_id = d.etrecord_id AND same_event(n, t)
    WHERE t.kind IN ('kernel', 'delegate_call', 'delegate_op')
    GROUP BY
        d.place_id,
        t.kind <> 'kernel', t.chain_index, t.instruction_id,
        CASE WHEN t.kind = 'kernel' THEN t.event_name END
),
types AS (
    SELECT
        place_id, is_delegated, op_type, delegate_backend, count(*) AS call_count,
        CAST(sum(operator_count) AS BIGINT) AS operator_count,
        CAST(sum(calls) AS DOUBLE) AS calls,
        CASE WHEN sum(unknown_count) = 0 THEN exact_sum(total_ns) END AS total_ns,
        coalesce(exact_sum(nodes), 0e0) AS nodes
    FROM instructions
    WHERE calls > 0
    GROUP BY place_id, is_delegated, op_type, delegate_backend
)
SELECT
    p.device, p.pool, p.build, p.model, p.backend, p.group_value AS group,
    t.is_delegated, t.op_type, t.delegate_backend, t.call_count, t.operator_count,
    t.operator_count / CAST(
        sum(t.operator_count) OVER (PARTITION BY t.place_id) AS DOUBLE
    ) AS operator_share,
    t.calls / p.run_count AS run_calls,
    CASE WHEN p.untimed_count = 0 THEN t.total_ns / p.run_count END AS run_ns,
    part_of(t.total_ns, p.execute_ns) AS time_share,
    p.untimed_count,
    t.nodes / nullif(CAST(p.recorded_run_count AS DOUBLE), 0e0) AS run_nodes,
    t.nodes / nullif(sum(t.nodes) OVER (PARTITION BY t.place_id), 0e0) AS node_share
FROM types AS t
JOIN places AS p ON p.place_id = t.place_id
ORDER BY
    p.place_id, t.is_delegated DESC, t.op_type, t.delegate_backend NULLS LAST
