-- framework_tax: Time the runtime spends around kernels and delegates.
--
-- The scope says what is taxed. total: Method::execute less its kernels (native_call_*)
-- and delegate calls, per build on a device; run: the same for each run; operator:
-- OPERATOR_CALL less the kernel of the same instruction and chain; delegate:
-- DELEGATE_CALL less the delegate's own operators of the same instruction.
--
-- Only complete runs count: those with a Method::execute and without a flagged event.
-- Times are means over runs, or over calls in the scopes operator and delegate:
-- execute_ns is the sum of its parts and the tax, and tax_share is summed tax over
-- summed time. Where a delegate logs no operators, or times them in cycles of unknown
-- rate, its tax is null.
--
-- params:
--   scope    STRING(total|run|operator|delegate|all) = 'total'  What is taxed; all
--                              gives every row.
--   device   STRING = NULL     Only this device.
--   pool     STRING = NULL     Only devices of this pool.
--   build    STRING = NULL     Only this build.
--   model    STRING = NULL     Only this model.
--   backend  STRING = NULL     Only models lowered to this backend.
--   since    TIMESTAMP = NULL  Only dumps captured at or after this time.
--   until    TIMESTAMP = NULL  Only dumps captured before this time.
--
-- columns:
--   scope           STRING  total, run, operator or delegate.
--   device          STRING  Name of the device.
--   pool            STRING  Device pool; null if none.
--   build           STRING  Id of the build.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   dump_id         INT     Dump of the run; null in other scopes.
--   run_index       INT     Position of the run in its dump, from 0; null in other
--                           scopes.
--   event_name      STRING  Method::execute, or name of the kernel or delegate call.
--   instruction_id  INT     Instruction of the operator or delegate call; null in other
--                           scopes.
--   run_count       BIGINT  Runs (calls in the scopes operator and delegate) the means
--                           are over.
--   execute_ns      DOUBLE  Mean time of what is taxed, nanoseconds; null in cycles of
--                           unknown rate, like all times.
--   kernel_ns       DOUBLE  Mean time in kernels; null in scope delegate.
--   delegate_ns     DOUBLE  Mean time in delegate calls, in the delegate's own
--                           operators in scope delegate; null in scope operator.
--   tax_ns          DOUBLE  Mean time in neither; lower is better.
--   tax_share       DOUBLE  tax_ns over execute_ns, 0 to 1; lower is better.
WITH chosen AS (
    SELECT dump_id, device, pool, build, model, backend
    FROM named_dumps
    WHERE device = coalesce(CAST(:device AS STRING), device)
        AND pool IS NOT DISTINCT FROM coalesce(CAST(:pool AS STRING), pool)
        AND build = coalesce(CAST(:build AS STRING), build)
        AND model = coalesce(CAST(:model AS STRING), model)
        AND backend IS NOT DISTINCT FROM coalesce(CAST(:backend AS STRING), backend)
        AND (CAST(:since AS TIMESTAMP) IS NULL
            OR captured_at >= CAST(:since AS TIMESTAMP))
        AND (CAST(:until AS TIMESTAMP) IS NULL
            OR captured_at < CAST(:until AS TIMESTAMP))
),
taxed AS (
    SELECT
        'total' AS scope, dump_id, CAST(NULL AS INT) AS run_dump_id,
        CAST(NULL AS INT) AS run_index, event_name, instruction_id, call_count,
        execute_ns, kernel_ns, delegate_ns, tax_ns
    FROM taxed_times
    WHERE scope = 'run' AND CAST(:scope AS STRING) IN ('total', 'all')
    UNION ALL
    SELECT
        scope, dump_id, CASE WHEN scope = 'run' THEN dump_id END AS run_dump_id,
        run_index, event_name, instruction_id, call_count,
        execute_ns, kernel_ns, delegate_ns, tax_ns
    FROM taxed_times
    WHERE CAST(:scope AS STRING) IN (scope, 'all')
),
-- A sum over a group is known only if every term is.
sums AS (
    SELECT
        t.scope, c.device, c.pool, c.build, c.model, c.backend,
        t.run_dump_id, t.run_index, t.event_name, t.instruction_id,
        CAST(sum(t.call_count) AS BIGINT) AS run_count,
        CASE WHEN count(t.execute_ns) = count(*) THEN sum(t.execute_ns) END
            AS execute_ns,
        CASE WHEN count(t.kernel_ns) = count(*) THEN sum(t.kernel_ns) END
            AS kernel_ns,
        CASE WHEN count(t.delegate_ns) = count(*) THEN sum(t.delegate_ns) END
            AS delegate_ns,
        CASE WHEN count(t.tax_ns) = count(*) THEN sum(t.tax_ns) END
            AS tax_ns
    FROM taxed AS t
    JOIN chosen AS c ON c.dump_id = t.dump_id
    GROUP BY
        t.scope, c.device, c.pool, c.build, c.model, c.backend,
        t.run_dump_id, t.run_index, t.event_name, t.instruction_id
)
SELECT
    scope, device, pool, build, model, backend,
    run_dump_id AS dump_id, run_index, event_name, instruction_id, run_count,
    execute_ns / run_count AS execute_ns,
    kernel_ns / run_count AS kernel_ns,
    delegate_ns / run_count AS delegate_ns,
    tax_ns / run_count AS tax_ns,
    tax_ns / nullif(execute_ns, 0e0) AS tax_share
FROM sums
ORDER BY
    scope, device, pool NULLS LAST, build, model, backend NULLS LAST,
    dump_id NULLS LAST, run_index NULLS LAST, instruction_id NULLS LAST, event_name
