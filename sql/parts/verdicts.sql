-- verdicts: What is to be thought of each series, seen beside the others.
--
-- Reads compared_dumps and measured.
--
-- parts: series, plain_samples, two_samples, paired_samples, compared
-- parts: pools AS scored, tested, judgements
--
-- columns:
--   series_id       BIGINT  Number of the series.
--   family_id       BIGINT  Number of those whose false alarms are counted together.
--   level           STRING  What it is.
--   device          STRING  Name of the device; null for a pool.
--   pool            STRING  Its pool; null if none or several.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   run             STRING  Name of the runs that holds across builds.
--   event_name      STRING  Name of the operator or of what was added up.
--   delegate_id     STRING  Delegate debug id; null outside delegates.
--   ordinal         INT     Which instruction of that name and delegate id.
--   kind            STRING  Kind of the events.
--   instruction_id  INT     Instruction id in the head; null outside the program.
--   unit            STRING  Unit of the values.
--   half_tick       DOUBLE  Half of what the clock can tell apart.
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
--   cost            DOUBLE  What the change adds per run, in the unit; 0 unless it
--                           counts.
--   verdict         STRING  As regression_deltas tells.
--   is_paired       BOOLEAN  Whether the differences in pairs of dumps are compared.
WITH balances AS (
    SELECT
        *,
        sum(CASE WHEN kind <> 'method' THEN greatest(cost, 0e0) END) OVER scope
            AS more,
        sum(CASE WHEN kind <> 'method' THEN greatest(-cost, 0e0) END) OVER scope
            AS less,
        max(CASE WHEN kind = 'method' AND cost <> 0 THEN 1 ELSE 0 END) OVER (
            PARTITION BY family_id
        ) AS is_total_changed
    FROM judgements
    -- Time moves among the operators of delegates, or among all others, calls included.
    WINDOW scope AS (
        PARTITION BY family_id, kind = 'delegate_op' ORDER BY cost
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    )
)
SELECT
    series_id, family_id, level, device, pool, model, backend, run,
    event_name, delegate_id, ordinal, kind, instruction_id, unit, half_tick,
    base_count, head_count, base_value, head_value, shift, low, high, state_shift,
    p_adjusted, dumps_needed, cost,
    CASE
        WHEN verdict IN ('regression', 'improvement') AND kind <> 'method'
            AND is_total_changed = 0
            AND abs(more - less) <= least(more, less) / 4 THEN 'moved'
        ELSE verdict
    END AS verdict, is_paired
FROM balances
