-- verdicts: The verdict on each series, given the other series.
--
-- Reads compared_dumps and measured.
--
-- parts: series, plain_samples, two_samples, paired_samples, compared
-- parts: pools AS scored, tested, judgements
--
-- columns:
--   series_id       BIGINT  Number of the series.
--   family_id       BIGINT  Number of the family whose false alarms are controlled
--                           together.
--   level           STRING  What it is.
--   device          STRING  Name of the device; null for a pool.
--   pool            STRING  Its pool; null if none or several.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   run             STRING  Name of the runs, stable across builds.
--   event_name      STRING  Name of the operator, type or module.
--   delegate_id     STRING  Delegate debug id; null outside delegates.
--   ordinal         INT     Which instruction of that name and delegate id.
--   kind            STRING  Kind of the events.
--   instruction_id  INT     Instruction id in the head; null outside the program.
--   unit            STRING  Unit of the values.
--   half_tick       DOUBLE  Half of the clock's resolution.
--   base_count      BIGINT  Dumps of the base that count.
--   head_count      BIGINT  Dumps of the head that count.
--   base_value      DOUBLE  Median of the base's values; null without any.
--   head_value      DOUBLE  Median of the head's values.
--   shift           DOUBLE  Change in log time; null unless both have values.
--   low             DOUBLE  Lower end of its interval; null with too few values.
--   high            DOUBLE  Upper end.
--   state_shift     DOUBLE  How far the state of the device moved from base to head, in
--                           log time; null where values have it.
--   p_adjusted      DOUBLE  Share of false alarms if this were one; null unless tested.
--   dumps_needed    BIGINT  Dumps that each build lacks; null if none, or if more would
--                           not help.
--   cost            DOUBLE  Cost of the change per run, in the unit; 0 unless it
--                           counts.
--   verdict         STRING  See regression_deltas.
--   is_paired       BOOLEAN  Whether the differences in pairs of dumps are compared.
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
