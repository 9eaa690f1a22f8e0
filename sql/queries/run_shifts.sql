-- run_shifts: How far all operators of a model on a device moved together.
--
-- A movement of all operators is due to the state of the device (its clock, heat, other
-- load) or to the whole build, and not to one operator. Each kernel has a vote: the
-- median over its operators of the head's level over the base's. Its weight is the
-- precision of its best operator. Delegates' operators vote by name without '#k'; calls
-- and methods have no vote. The shift is the weighted median of the votes. A level is
-- the median of dumps in log time, with the values of regression_deltas; operators with
-- fewer than 5 dumps in a build, or too short for their clock, have none.
--
-- Verdicts: too_few_kernels (fewer than 6 that vote, so that one of them could move the
-- shift alone), slower, faster (by 3 % or more), steady.
--
-- filters: compared_dumps
--
-- portions: device
--
-- next: device_health, environment_changes
--
-- columns:
--   device, model, backend
--   base_count      BIGINT  Dumps of the base, at least 1.
--   head_count      BIGINT  Dumps of the head, at least 1.
--   operator_count  BIGINT  Operators that have levels in both.
--   kernel_count    BIGINT  Kernels that vote.
--   shift           DOUBLE(change)  Change as a share: 0.05 is 5 % slower; null with
--                           too few kernels.
--   verdict
WITH families AS (
    SELECT
        device, model, backend,
        count(CASE WHEN is_head = 0 THEN 1 END) AS base_count,
        count(CASE WHEN is_head = 1 THEN 1 END) AS head_count
    FROM compared_dumps
    GROUP BY device, model, backend
    HAVING min(is_head) < max(is_head)
),
operator_values AS (
    SELECT
        o.device, o.model, o.backend, split_part(o.event_name, '#', 1) AS kernel,
        c.is_head, ln(greatest(o.value, 1e0)) AS y, ln(o.floor) AS floor,
        dense_rank() OVER (
            ORDER BY
                o.device, o.model, o.backend, o.run, o.event_name, o.delegate_id,
                o.ordinal, o.unit
        ) AS series_id
    FROM operator_stats AS o
    JOIN compared_dumps AS c ON c.dump_id = o.dump_id
    WHERE o.build IN (CAST(:base AS STRING), CAST(:head AS STRING))
        AND o.dump_id IN (SELECT dump_id FROM compared_dumps)
        AND o.kind IN ('kernel', 'delegate_op') AND o.value IS NOT NULL
),
levels AS (
    SELECT
        device, model, backend, kernel, series_id,
        max(head_level) - max(base_level) AS moved,
        greatest(1.2533e0 * 1.4826e0
            * median(CASE WHEN is_head = 0 THEN abs(y - base_level) END)
            / sqrt(count(CASE WHEN is_head = 0 THEN 1 END)), 1e-2) AS error
    FROM (
        SELECT
            *, median(CASE WHEN is_head = 0 THEN y END) OVER (PARTITION BY series_id)
                AS base_level,
            median(CASE WHEN is_head = 1 THEN y END) OVER (PARTITION BY series_id)
                AS head_level
        FROM operator_values
    ) AS v
    GROUP BY device, model, backend, kernel, series_id
    HAVING count(CASE WHEN is_head = 0 THEN 1 END) >= 5
        AND count(CASE WHEN is_head = 1 THEN 1 END) >= 5
        AND max(base_level) >= max(floor)
),
votes AS (
    SELECT
        device, model, backend, kernel, count(*) AS n, median(moved) AS vote,
        1 / (min(error) * min(error)) AS weight
    FROM levels
    GROUP BY device, model, backend, kernel
),
shifts AS (
    SELECT
        device, model, backend, CAST(sum(n) AS BIGINT) AS operator_count,
        count(*) AS kernel_count,
        min(CASE WHEN below >= total / 2 THEN vote END) AS shift
    FROM (
        SELECT
            *, sum(weight) OVER (
                PARTITION BY device, model, backend ORDER BY vote, kernel
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) * (1 + 1e-12) AS below,
            sum(weight) OVER (
                PARTITION BY device, model, backend ORDER BY vote, kernel
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            ) AS total
        FROM votes
    ) AS v
    GROUP BY device, model, backend
)
SELECT
    f.device, f.model, f.backend, f.base_count, f.head_count,
    coalesce(s.operator_count, 0) AS operator_count,
    coalesce(s.kernel_count, 0) AS kernel_count,
    CASE WHEN s.kernel_count >= 6 THEN exp(s.shift) - 1 END AS shift,
    CASE
        WHEN coalesce(s.kernel_count, 0) < 6 THEN 'too_few_kernels'
        WHEN exp(s.shift) - 1 >= 3e-2 THEN 'slower'
        WHEN exp(s.shift) - 1 <= -3e-2 THEN 'faster'
        ELSE 'steady'
    END AS verdict
FROM families AS f
LEFT JOIN shifts AS s ON same_family(s, f)
ORDER BY f.device, f.model, f.backend NULLS LAST
