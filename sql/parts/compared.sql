-- compared: Series with the results of both builds.
--
-- Reads series, two_samples and paired_samples. Where there are enough pairs of dumps,
-- only the pairs count.
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
--   floor           DOUBLE  Smallest comparable value.
--   half_tick       DOUBLE  Half of the clock's resolution.
--   state_shift     DOUBLE  How far the state of the device moved from base to head, in
--                           log time; null where values have it.
--   has_base        INT     Whether the base has it, even if no dump counts.
--   has_head        INT     Whether the head has it.
--   base_count      BIGINT  Dumps of the base that count.
--   head_count      BIGINT  Dumps of the head that count.
--   base_value      DOUBLE  Median of the base's values; null without any.
--   head_value      DOUBLE  Median of the head's values.
--   figures         STRUCT  Results of both builds, see compare_samples; null unless
--                           both have values.
--   is_paired       BOOLEAN  Whether the differences in pairs of dumps are compared.
SELECT
    s.series_id, s.family_id, s.level, s.device, s.pool, s.model, s.backend,
    s.run, s.event_name, s.delegate_id, s.ordinal, s.kind, s.instruction_id,
    s.unit, s.floor, s.half_tick, s.state_shift, s.has_base, s.has_head,
    coalesce(p.pair_count, t.base_count, 0) AS base_count,
    coalesce(p.pair_count, t.head_count, 0) AS head_count,
    coalesce(p.base_value, t.base_value) AS base_value,
    coalesce(p.head_value, t.head_value) AS head_value,
    coalesce(p.figures, t.figures) AS figures,
    p.series_id IS NOT NULL AS is_paired
FROM series AS s
LEFT JOIN two_samples AS t ON t.series_id = s.series_id
LEFT JOIN paired_samples AS p ON p.series_id = s.series_id
