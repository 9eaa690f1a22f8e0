-- verdicts: The verdict on each series, given the other series.
--
-- Reads compared_dumps and measured.
--
-- parts: series, plain_samples, two_samples, paired_samples, compared
-- parts: pools AS scored, tested, judgements
--
-- columns:
--   series_id, family_id, level, device, pool, model, backend, run
--   event_name      STRING  Name of the operator, type or module.
--   delegate_id, ordinal, kind
--   instruction_id  INT     Instruction id in the head; null outside the program.
--   unit, half_tick, base_count, head_count, base_value, head_value, shift, low, high,
--   state_shift, p_adjusted, dumps_needed, cost
--   verdict         STRING  See regression_deltas.
--   is_paired
WITH balances AS (
    -- Time moves among the operators inside delegates, or among all others with calls.
    SELECT
        family_id, kind = 'delegate_op' AS is_delegated,
        exact_sum(CASE WHEN kind <> 'method' THEN greatest(cost, 0e0) END) AS more,
        exact_sum(CASE WHEN kind <> 'method' THEN greatest(-cost, 0e0) END) AS less
    FROM judgements
    GROUP BY family_id, kind = 'delegate_op'
),
changed AS (
    SELECT DISTINCT family_id FROM judgements WHERE kind = 'method' AND cost <> 0
)
SELECT
    j.series_id, j.family_id, j.level, j.device, j.pool, j.model, j.backend, j.run,
    j.event_name, j.delegate_id, j.ordinal, j.kind, j.instruction_id, j.unit,
    j.half_tick, j.base_count, j.head_count, j.base_value, j.head_value, j.shift, j.low,
    j.high, j.state_shift, j.p_adjusted, j.dumps_needed, j.cost,
    CASE
        WHEN j.verdict IN ('regression', 'improvement') AND j.kind <> 'method'
            AND c.family_id IS NULL
            AND abs(b.more - b.less) <= least(b.more, b.less) / 4 THEN 'moved'
        ELSE j.verdict
    END AS verdict, j.is_paired
FROM judgements AS j
JOIN balances AS b
    ON b.family_id = j.family_id AND b.is_delegated = (j.kind = 'delegate_op')
LEFT JOIN changed AS c ON c.family_id = j.family_id
