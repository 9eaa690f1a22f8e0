-- compared: Series with what the dumps of both builds say of them.
--
-- Reads series, plain_samples, modes and two_samples.
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
--   floor           DOUBLE  Least value that can be compared.
--   half_tick       DOUBLE  Half of what the clock can tell apart.
--   has_base        INT     Whether the base has it, even if no dump counts.
--   has_head        INT     Whether the head has it.
--   base_count      BIGINT  Dumps of the base that count.
--   head_count      BIGINT  Dumps of the head that count.
--   base_value      DOUBLE  Median of the base's values; null without any.
--   head_value      DOUBLE  Median of the head's values.
--   excess          DOUBLE  Mann-Whitney U less its mean if both are alike; null unless
--                           both have values, like all that follow.
--   variance        DOUBLE  Its variance.
--   shift           DOUBLE  Change in log time.
--   low             DOUBLE  Lower end of its interval; null with too few values.
--   high            DOUBLE  Upper end.
--   mix_z           DOUBLE  How far the shares of slow processes differ; null without
--                           modes.
SELECT
    s.series_id, s.family_id, s.level, s.device, s.pool, s.model, s.backend,
    s.run, s.event_name, s.delegate_id, s.ordinal, s.kind, s.instruction_id,
    s.unit, s.floor, s.half_tick, s.has_base, s.has_head,
    coalesce(c.base_count, 0) AS base_count, coalesce(c.head_count, 0) AS head_count,
    c.base_value, c.head_value,
    t.excess, t.variance, t.shift, t.low, t.high, m.z AS mix_z
FROM series AS s
LEFT JOIN (
    SELECT
        series_id,
        CAST(sum(1 - is_head) AS BIGINT) AS base_count,
        CAST(sum(is_head) AS BIGINT) AS head_count,
        median(CASE WHEN is_head = 0 THEN value END) AS base_value,
        median(CASE WHEN is_head = 1 THEN value END) AS head_value
    FROM plain_samples
    GROUP BY series_id
) AS c
    ON c.series_id = s.series_id
LEFT JOIN two_samples AS t ON t.series_id = s.series_id
LEFT JOIN modes AS m ON m.series_id = s.series_id
