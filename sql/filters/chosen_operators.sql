-- chosen_operators: Statistics of operators in the chosen dumps.
--
-- The names of dumps are filtered in operator_stats too: DuckDB applies a filter by
-- dump id only after it has read the statistics of all other dumps.
--
-- params:
--   run
--
-- filters: chosen_dumps
--
-- columns:
--   dump_id, device, build, build_role, model, backend, run, event_name, delegate_id,
--   ordinal, instruction_id, kind
--   sample_count  BIGINT  Events counted, at least 1.
--   p50_ns        DOUBLE  Median; null in cycles of unknown rate.
--   value_ns      DOUBLE  Value of the dump in comparisons; null with too few events,
--                         and in cycles of unknown rate.
--   unit
--   value         DOUBLE  Value of the dump in that unit; null with too few events.
--   floor
SELECT
    dump_id, device, build, build_role, model, backend, run, event_name, delegate_id,
    ordinal, instruction_id, kind, sample_count, p50_ns, value_ns, unit, value, floor
FROM operator_stats
WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
    AND is_chosen(:device, device)
    AND is_chosen(:build, build)
    AND is_chosen(:model, model)
    AND is_chosen(:run, run)
