-- counter_totals: Counters of dumps, such as energy or cycles.
--
-- Manifests state counters, and delegates log them among their events: cycles, bytes
-- and counts. A value belongs to a run if a manifest states the counter run by run, or
-- a delegate logs it (then all its calls are added); else it belongs to the whole dump,
-- loads included. An inference is a complete run (with a Method::execute and without a
-- flagged event); the value of a dump is divided by the number of its inferences.
--
-- filters: grouped_dumps
--
-- parts: stated_counters
--
-- portions: device
--
-- columns:
--   device, pool, build, model, backend, group, counter
--   unit             STRING  Unit of all later columns except the counts.
--   scope            STRING  Scope of the values: run or dump.
--   run_name         STRING  Name of the runs, which separates loading from executing;
--                            null if they have none, if dumps have no such runs, and
--                            with scope dump.
--   dump_count       BIGINT  Dumps that state values, at least 1.
--   value_count      BIGINT  Values, at least 1.
--   total            DOUBLE(unit)  Sum of all values.
--   min              DOUBLE(unit)  Lowest value; lower is better for most counters,
--                            here and in all that follow.
--   p10              DOUBLE(unit)  10th percentile of the values.
--   p50              DOUBLE(unit)  Median of the values.
--   p90              DOUBLE(unit)  90th percentile of the values.
--   p99              DOUBLE(unit)  99th percentile of the values.
--   max              DOUBLE(unit)  Highest value.
--   inference_count  BIGINT  Inferences that values are of.
--   per_inference    DOUBLE(unit)  Sum of the values that are of inferences, over
--                            their number; null without any.
WITH stated AS (
    SELECT
        g.device, g.pool, g.build, g.model, g.backend, g.group_value, s.*
    FROM stated_counters AS s
    JOIN grouped_dumps AS g ON g.dump_id = s.dump_id
)
SELECT
    device, pool, build, model, backend, group_value AS group, counter, unit, scope,
    run_name, count(DISTINCT dump_id) AS dump_count, count(*) AS value_count,
    exact_sum(value) AS total, min(value) AS min,
    percentile_cont(0.1) WITHIN GROUP (ORDER BY value) AS p10,
    median(value) AS p50,
    percentile_cont(0.9) WITHIN GROUP (ORDER BY value) AS p90,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY value) AS p99,
    max(value) AS max,
    CAST(coalesce(sum(inference_count), 0) AS BIGINT) AS inference_count,
    exact_sum(CASE WHEN inference_count > 0 THEN value END)
        / nullif(sum(inference_count), 0) AS per_inference
FROM stated
GROUP BY
    device, pool, build, model, backend, group_value, counter, unit, scope, run_name
ORDER BY
    device NULLS LAST, pool NULLS LAST, build, model, backend NULLS LAST,
    group_value NULLS LAST, counter, unit, scope, run_name NULLS LAST
