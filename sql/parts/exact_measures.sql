-- exact_measures: Measures without noise, by dump.
--
-- Reads dump_id, device, model and backend of compared_dumps. A dump has rows of what
-- it says alone: nothing of the runs of a name that it has none of. Counts and shares
-- are those of complete runs (with a Method::execute and without a flagged event), if
-- these log any operator or delegate call: the runtime can leave them out. Allocations
-- are those of dumps that log some, see dump_allocations. Counters in bytes that
-- manifests state for whole dumps keep their own names.
--
-- parts: dump_allocations
--
-- columns:
--   dump_id
--   measure    STRING  runs_per_dump, dump_bytes, operator_count, delegate_call_count,
--                      operator_calls, delegate_calls, delegated_share,
--                      allocated_bytes, or the name of a counter.
--   run_name   STRING  Name of the measured runs; null for measures of the whole dump.
--   allocator  STRING  Allocator of the bytes; null in other measures, and if it has no
--                      name.
--   low        DOUBLE  Value; the lowest of its runs, if they differ.
--   high       DOUBLE  Highest value of its runs.
WITH instructions AS (
    SELECT
        t.dump_id, n.run,
        count(DISTINCT CASE WHEN kind = 'kernel' THEN event_name END) AS kernels,
        count(DISTINCT CASE WHEN kind = 'delegate_call' THEN event_name END) AS calls,
        count(DISTINCT CASE WHEN kind = 'delegate_op' THEN delegate_id END) AS ops,
        sum(CASE WHEN kind = 'kernel' THEN event_count ELSE 0 END) AS kernel_events,
        sum(CASE WHEN kind = 'delegate_call' THEN event_count ELSE 0 END)
            AS call_events,
        sum(CASE WHEN kind = 'method' THEN event_count ELSE 0 END) AS methods,
        count(CASE WHEN kind IN ('operator_call', 'kernel', 'delegate_call') THEN 1 END)
            AS step_count
    FROM complete_run_totals AS t
    JOIN named_run_signatures AS n
        ON n.dump_id = t.dump_id AND n.run_signature_id = t.run_signature_id
    WHERE t.dump_id IN (SELECT dump_id FROM compared_dumps)
    GROUP BY t.dump_id, n.run, t.chain_index, t.instruction_id
),
counts AS (
    SELECT
        dump_id, run, sum(kernels) AS kernels, sum(calls) AS calls,
        sum(kernel_events) / nullif(sum(methods), 0) AS kernel_calls,
        sum(call_events) / nullif(sum(methods), 0) AS delegate_calls,
        sum(greatest(calls, ops)) / nullif(sum(kernels + greatest(calls, ops)), 0)
            AS delegated_share
    FROM instructions
    GROUP BY dump_id, run
    HAVING sum(step_count) > 0
),
measured AS (
    SELECT
        d.dump_id, m.measure, CAST(NULL AS STRING) AS run,
        CAST(CASE m.measure WHEN 'dump_bytes' THEN d.byte_count ELSE d.n_runs END
            AS DOUBLE) AS value
    FROM dumps AS d
    JOIN compared_dumps AS p ON p.dump_id = d.dump_id
    CROSS JOIN (VALUES ('runs_per_dump'), ('dump_bytes')) AS m (measure)
    UNION ALL
    SELECT
        c.dump_id, m.measure, c.run,
        CASE m.measure
            WHEN 'operator_count' THEN CAST(c.kernels AS DOUBLE)
            WHEN 'delegate_call_count' THEN CAST(c.calls AS DOUBLE)
            WHEN 'operator_calls' THEN c.kernel_calls
            WHEN 'delegate_calls' THEN c.delegate_calls
            ELSE c.delegated_share
        END AS value
    FROM counts AS c
    CROSS JOIN (
        VALUES ('operator_count'), ('delegate_call_count'), ('operator_calls'),
            ('delegate_calls'), ('delegated_share')
    ) AS m (measure)
)
SELECT
    dump_id, measure, run AS run_name,
    CAST(NULL AS STRING) AS allocator, value AS low, value AS high
FROM measured
WHERE value IS NOT NULL
UNION ALL
SELECT
    dump_id, 'allocated_bytes' AS measure, run_name, allocator,
    CAST(least AS DOUBLE) AS low, CAST(most AS DOUBLE) AS high
FROM dump_allocations
WHERE NOT is_total
UNION ALL
SELECT
    dump_id, name AS measure, CAST(NULL AS STRING) AS run_name,
    CAST(NULL AS STRING) AS allocator, value AS low, value AS high
FROM counters
WHERE run_index IS NULL AND lower(unit) IN ('b', 'byte', 'bytes')
    AND dump_id IN (SELECT dump_id FROM compared_dumps)
