-- framework_tax: Time that the runtime spends around kernels and delegates.
--
-- The scope says what is taxed. total: Method::execute less its kernels
-- and delegate calls, per build on a device, or, grouped by backend, one row per
-- backend with all of its builds and models; run: the same for each run; operator:
-- OPERATOR_CALL less the kernels of the same instruction and chain; delegate:
-- DELEGATE_CALL less the delegate's own operators of the same instruction. The kernels
-- of an instruction add up, so the time of one that another calls counts twice; an
-- instruction that logs no kernel has no row, and the tax of one that logs fewer than
-- calls is null.
--
-- Only complete runs count (with a Method::execute and without a flagged event). Times
-- are means over runs, or over calls in the scopes operator and delegate: execute_ns is
-- the sum of its parts and the tax, and tax_share is summed tax over summed time. If a
-- delegate logs no operators, or times any in cycles of unknown rate, its tax is null.
--
-- params:
--   event
--   scope    STRING(total|run|operator|delegate|all) = 'total'  What is taxed; all
--                              gives every row.
--
-- filters: grouped_dumps
--
-- next: tax_history, delegate_transitions
--
-- columns:
--   scope           STRING  total, run, operator or delegate.
--   device, pool, build, model, backend, group
--   dump_id         BIGINT  Dump of the run; null in other scopes.
--   run_index       INT     Position of the run in its dump, from 0; null in other
--                           scopes.
--   event_name      STRING  Method::execute, or name of the kernel (of several the last
--                           one by name) or delegate call.
--   instruction_id  INT     Instruction of the operator or delegate call; null in other
--                           scopes.
--   run_count       BIGINT  Runs (calls in the scopes operator and delegate) the means
--                           are over.
--   execute_ns      DOUBLE  Mean time of the taxed calls, nanoseconds; null in cycles
--                           of unknown rate, like all times.
--   kernel_ns       DOUBLE  Mean time in kernels; null if some calls log none, and in
--                           scope delegate.
--   delegate_ns     DOUBLE  Mean time in delegate calls, in the delegate's own
--                           operators in scope delegate; null in scope operator.
--   tax_ns          DOUBLE  Mean time outside both; lower is better.
--   tax_share       DOUBLE  tax_ns over execute_ns, 0 to 1; lower is better.
--   untimed_count
WITH taxed AS (
    SELECT
        'total' AS scope, r.dump_id, CAST(NULL AS INT) AS run_dump_id,
        CAST(NULL AS INT) AS run_index, 'Method::execute' AS event_name,
        CAST(NULL AS INT) AS instruction_id, r.call_count,
        r.execute_ticks * d.ns_per_tick AS execute_ns,
        r.kernel_ticks * d.ns_per_tick AS kernel_ns,
        r.delegate_ticks * d.ns_per_tick AS delegate_ns,
        r.tax_ticks * d.ns_per_tick AS tax_ns
    FROM (
        -- Sums of ticks, which are whole numbers, are the same in any order.
        SELECT
            dump_id, count(*) AS call_count, sum(execute_ticks) AS execute_ticks,
            sum(kernel_ticks) AS kernel_ticks, sum(delegate_ticks) AS delegate_ticks,
            CASE
                WHEN max(kernel_ticks + delegate_ticks - execute_ticks) <= 0
                THEN sum(execute_ticks) - sum(kernel_ticks) - sum(delegate_ticks)
            END AS tax_ticks
        FROM run_totals
        WHERE CAST(:scope AS STRING) IN ('total', 'all')
            AND dump_id IN (SELECT dump_id FROM grouped_dumps)
        GROUP BY dump_id
    ) AS r
    JOIN grouped_dumps AS d ON d.dump_id = r.dump_id
    UNION ALL
    SELECT
        scope, dump_id, CASE WHEN scope = 'run' THEN dump_id END AS run_dump_id,
        run_index, event_name, instruction_id, call_count,
        execute_ns, kernel_ns, delegate_ns, tax_ns
    FROM taxed_times
    WHERE CAST(:scope AS STRING) IN (scope, 'all')
),
placed AS (
    SELECT
        *, CASE
            WHEN CAST(:group_by AS STRING) = 'backend'
            THEN min(place_id) OVER (PARTITION BY group_value)
            ELSE place_id
        END AS total_place_id,
        CASE WHEN CAST(:group_by AS STRING) = 'backend' THEN NULL ELSE build END
            AS total_build,
        CASE WHEN CAST(:group_by AS STRING) = 'backend' THEN NULL ELSE model END
            AS total_model
    FROM grouped_dumps
),
placed_times AS (
    SELECT
        t.*, c.device, c.pool, c.backend, c.group_value,
        CASE WHEN t.scope = 'total' THEN c.total_place_id ELSE c.place_id END
            AS place_id,
        CASE WHEN t.scope = 'total' THEN c.total_build ELSE c.build END AS build,
        CASE WHEN t.scope = 'total' THEN c.total_model ELSE c.model END AS model
    FROM taxed AS t
    JOIN placed AS c ON c.dump_id = t.dump_id
),
-- A sum over a group is known only if every term is.
sums AS (
    SELECT
        t.scope, t.place_id, t.device, t.pool, t.build, t.model, t.backend,
        t.group_value,
        t.run_dump_id, t.run_index, t.event_name, t.instruction_id,
        CAST(sum(t.call_count) AS BIGINT) AS run_count,
        whole_sum(t.execute_ns) AS execute_ns,
        whole_sum(t.kernel_ns) AS kernel_ns,
        whole_sum(t.delegate_ns) AS delegate_ns,
        whole_sum(t.tax_ns) AS tax_ns,
        count(DISTINCT CASE WHEN t.execute_ns IS NULL THEN t.dump_id END)
            AS untimed_count
    FROM placed_times AS t
    GROUP BY
        t.scope, t.place_id, t.device, t.pool, t.build, t.model, t.backend,
        t.group_value,
        t.run_dump_id, t.run_index, t.event_name, t.instruction_id
)
SELECT
    scope, device, pool, build, model, backend, group_value AS group,
    CAST(run_dump_id AS BIGINT) AS dump_id, run_index, event_name, instruction_id,
    run_count,
    execute_ns / run_count AS execute_ns,
    kernel_ns / run_count AS kernel_ns,
    delegate_ns / run_count AS delegate_ns,
    tax_ns / run_count AS tax_ns,
    tax_ns / nullif(execute_ns, 0e0) AS tax_share, untimed_count
FROM sums
WHERE is_chosen(:event, event_name)
ORDER BY
    scope, place_id, dump_id NULLS LAST, run_index NULLS LAST,
    instruction_id NULLS LAST, event_name
