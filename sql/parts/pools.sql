-- pools: The rows of compared, and rows of each pool's operators over all its devices.
--
-- Reads compared. A pool combines the devices on which both builds can be compared, if
-- there are at least two, with the function pool_samples.
--
-- columns:
--   series_id, family_id, level, device, pool, model, backend, run
--   event_name      STRING   Name of the operator, type or module.
--   delegate_id, ordinal, kind
--   instruction_id  INT      Instruction id in the head; null outside the program.
--   unit, floor, half_tick
--   state_shift     DOUBLE   How far the state of the device moved from base to head,
--                            in log time; null where values have it; for a pool the
--                            mean distance of its devices.
--   has_base, has_head, base_count, head_count
--   base_value      DOUBLE   Median of the base's values; for a pool its devices' mean.
--   head_value      DOUBLE   Median of the head's values; likewise.
--   results         STRUCT   Results of both builds; of a pool, results of its devices
--                            together, see pool_samples.
--   is_paired       BOOLEAN  Whether the differences in pairs of dumps are compared; of
--                            a pool, on all its devices.
WITH pooled AS (
    SELECT
        pool, model, backend, run, event_name, delegate_id, ordinal,
        min(kind) AS kind,
        min(instruction_id) AS instruction_id, min(unit) AS unit,
        max(half_tick) AS half_tick,
        exact_sum(abs(state_shift)) / nullif(count(state_shift), 0) AS state_shift,
        CAST(sum(base_count) AS BIGINT) AS base_count,
        CAST(sum(head_count) AS BIGINT) AS head_count,
        exact_sum(base_value) / count(base_value) AS base_value,
        exact_sum(head_value) / count(head_value) AS head_value,
        pool_samples(array_sort(array_agg(results))) AS results,
        min(CASE WHEN is_paired THEN 1 ELSE 0 END) = 1 AS is_paired
    FROM compared
    WHERE level IN ('method', 'delegate', 'operator') AND pool IS NOT NULL
        AND results.low IS NOT NULL AND greatest(base_value, head_value) >= floor
    GROUP BY pool, model, backend, run, event_name, delegate_id, ordinal
    HAVING count(*) > 1 AND min(unit) = max(unit)
)
SELECT * FROM compared
UNION ALL
SELECT
    CAST(-row_number() OVER (
        ORDER BY
            pool, model, backend NULLS LAST, run, event_name, delegate_id NULLS LAST,
            ordinal
    ) AS BIGINT) AS series_id,
    CAST(-dense_rank() OVER (
        ORDER BY pool, model, backend NULLS LAST, run
    ) AS BIGINT) AS family_id,
    'pool' AS level, CAST(NULL AS STRING) AS device, pool, model, backend,
    run, event_name, delegate_id, ordinal, kind, instruction_id,
    unit, 0e0 AS floor, half_tick, state_shift, 1 AS has_base, 1 AS has_head,
    base_count, head_count, base_value, head_value, results, is_paired
FROM pooled
