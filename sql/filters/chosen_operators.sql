-- chosen_operators: Statistics of operators in the chosen dumps.
--
-- The names of dumps are filtered in operator_stats too: DuckDB applies a filter by
-- dump id only after it has read the statistics of all other dumps.
--
-- params:
--   run  STRING[] OF named_run_signatures.run = NULL  Only these runs, e.g. 'Execute
--                 #2'.
--
-- filters: chosen_dumps
--
-- columns:
--   dump_id         INT     Number of the dump.
--   device          STRING  Name of the device.
--   build           STRING  Id of the build.
--   build_role      STRING  reference for a pinned build recorded with others, else
--                           null.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   run             STRING  Name of the runs, stable across builds.
--   event_name      STRING  Name of the operator, else its delegate id.
--   delegate_id     STRING  Delegate debug id; null outside delegates.
--   ordinal         INT     Number among the build's instructions of that name and
--                           delegate id, from 1.
--   instruction_id  INT     Instruction id in this build; null outside the program.
--   kind            STRING  Kind of the events.
--   sample_count    BIGINT  Events counted, at least 1.
--   p50_ns          DOUBLE  Median; null in cycles of unknown rate.
--   value_ns        DOUBLE  Value of the dump in comparisons; null with too few events,
--                           and in cycles of unknown rate.
--   unit            STRING  ns; ticks where the clock's rate is unknown.
--   value           DOUBLE  Value of the dump in that unit; null with too few events.
--   floor           DOUBLE  Smallest comparable value.
SELECT
    dump_id, device, build, build_role, model, backend, run, event_name, delegate_id,
    ordinal, instruction_id, kind, sample_count, p50_ns, value_ns, unit, value, floor
FROM operator_stats
WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
    AND (CAST(:device AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:device AS ARRAY<STRING>), device))
    AND (CAST(:build AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:build AS ARRAY<STRING>), build))
    AND (CAST(:model AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:model AS ARRAY<STRING>), model))
    AND (CAST(:run AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:run AS ARRAY<STRING>), run))
