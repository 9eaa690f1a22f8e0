-- compared: Series with the results of both builds.
--
-- Reads series, two_samples and paired_samples. Where there are enough pairs of dumps,
-- only the pairs count.
--
-- columns:
--   series_id, family_id, level, device, pool, model, backend, run
--   event_name      STRING  Name of the operator, type or module.
--   delegate_id, ordinal, kind
--   instruction_id  INT     Instruction id in the head; null outside the program.
--   unit, floor, half_tick, state_shift, has_base, has_head, base_count, head_count,
--   base_value, head_value
--   results         STRUCT  Results of both builds, see compare_samples; null unless
--                           both have values.
--   is_paired
SELECT
    s.series_id, s.family_id, s.level, s.device, s.pool, s.model, s.backend,
    s.run, s.event_name, s.delegate_id, s.ordinal, s.kind, s.instruction_id,
    s.unit, s.floor, s.half_tick, s.state_shift, s.has_base, s.has_head,
    coalesce(p.pair_count, t.base_count, 0) AS base_count,
    coalesce(p.pair_count, t.head_count, 0) AS head_count,
    coalesce(p.base_value, t.base_value) AS base_value,
    coalesce(p.head_value, t.head_value) AS head_value,
    coalesce(p.results, t.results) AS results,
    p.series_id IS NOT NULL AS is_paired
FROM series AS s
LEFT JOIN two_samples AS t ON t.series_id = s.series_id
LEFT JOIN paired_samples AS p ON p.series_id = s.series_id
