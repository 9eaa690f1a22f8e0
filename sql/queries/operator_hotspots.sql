-- operator_hotspots: Where the time of Method::execute goes, by operator.
--
-- Complete runs only (those with a Method::execute and without a flagged event). Self
-- time is time not spent in what a row calls: a delegate call's is its time less the
-- delegate's own operators, Method::execute's is the framework tax. Self times of a
-- build's rows add up to Method::execute, so self_share does to 1. OPERATOR_CALL is
-- left out: it is its kernel and a part of the tax. Loads, control flow and events of
-- unknown kind are left out too.
--
-- params:
--   top_n    INT = NULL        Only this many rows per build on a device, those of most
--                              self time.
--   device   STRING = NULL     Only this device.
--   pool     STRING = NULL     Only devices of this pool.
--   build    STRING = NULL     Only this build.
--   model    STRING = NULL     Only this model.
--   backend  STRING = NULL     Only models lowered to this backend.
--   since    TIMESTAMP = NULL  Only dumps captured at or after this time.
--   until    TIMESTAMP = NULL  Only dumps captured before this time.
--
-- columns:
--   device          STRING  Name of the device.
--   pool            STRING  Device pool; null if none.
--   build           STRING  Id of the build.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   event_name      STRING  Name of the operator, else its delegate id.
--   instruction_id  INT     Instruction id; null outside the program.
--   delegate_id     STRING  Delegate debug id; null outside delegates.
--   kind            STRING  method, kernel, delegate_call or delegate_op.
--   rank            INT     1 for the most self time of the build on the device, then
--                           2, ...
--   call_count      BIGINT  Calls, at least 1.
--   total_ns        DOUBLE  Summed time, nanoseconds; null in cycles of unknown rate,
--                           like all that follow; lower is better.
--   self_ns         DOUBLE  Summed time less what it calls; below 0 only where a
--                           delegate's clock disagrees.
--   mean_ns         DOUBLE  total_ns per call.
--   time_share      DOUBLE  total_ns over that of Method::execute, 0 to 1.
--   self_share      DOUBLE  self_ns over total_ns of Method::execute, 0 to 1.
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
totals AS (
    SELECT
        c.device, c.pool, c.build, c.model, c.backend,
        t.event_name, t.instruction_id, t.delegate_id, t.kind,
        CAST(sum(t.event_count) AS BIGINT) AS call_count,
        CASE WHEN count(t.total_ns) = count(*) THEN sum(t.total_ns) END AS total_ns
    FROM complete_run_totals AS t
    JOIN chosen AS c ON c.dump_id = t.dump_id
    WHERE t.kind IN ('method', 'kernel', 'delegate_call', 'delegate_op')
    GROUP BY
        c.device, c.pool, c.build, c.model, c.backend,
        t.event_name, t.instruction_id, t.delegate_id, t.kind
),
parents AS (
    SELECT
        *,
        sum(CASE WHEN kind = 'method' THEN total_ns END) OVER whole AS method_ns,
        sum(CASE WHEN kind IN ('kernel', 'delegate_call') THEN total_ns ELSE 0e0 END)
            OVER whole AS called_ns,
        CASE
            WHEN count(CASE WHEN kind = 'delegate_op' AND total_ns IS NULL THEN 1 END)
                OVER instruction = 0
            THEN sum(CASE WHEN kind = 'delegate_op' THEN total_ns ELSE 0e0 END)
                OVER instruction
        END AS op_ns
    FROM totals
    WINDOW
        whole AS (PARTITION BY device, pool, build, model, backend),
        instruction AS (
            PARTITION BY device, pool, build, model, backend, instruction_id
        )
),
selves AS (
    SELECT
        *,
        CASE kind
            WHEN 'method' THEN total_ns - called_ns
            WHEN 'delegate_call' THEN total_ns - op_ns
            ELSE total_ns
        END AS self_ns
    FROM parents
),
ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY device, pool, build, model, backend
            ORDER BY
                self_ns DESC NULLS LAST, instruction_id NULLS LAST, event_name,
                delegate_id NULLS LAST, kind
        ) AS rank
    FROM selves
)
SELECT
    device, pool, build, model, backend,
    event_name, instruction_id, delegate_id, kind, CAST(rank AS INT) AS rank,
    call_count, total_ns, self_ns,
    total_ns / call_count AS mean_ns,
    total_ns / nullif(method_ns, 0e0) AS time_share,
    self_ns / nullif(method_ns, 0e0) AS self_share
FROM ranked
WHERE rank <= coalesce(CAST(:top_n AS INT), rank)
ORDER BY device, pool NULLS LAST, build, model, backend NULLS LAST, rank
