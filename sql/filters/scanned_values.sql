-- scanned_values: Values of operators with the build where they most likely changed.
--
-- The function find_change finds that build.
--
-- filters: operator_values
--
-- columns:
--   dump_id      INT     Number of the dump.
--   device       STRING  Name of the device.
--   model        STRING  Name of the model.
--   backend      STRING  Backend of the model; null if none.
--   run          STRING  Name of the runs, stable across builds.
--   event_name   STRING  Name of the operator, else its delegate id.
--   delegate_id  STRING  Delegate debug id; null outside delegates.
--   ordinal      INT     Number among the build's instructions of that name and
--                        delegate id, from 1.
--   build        STRING  Id of the build.
--   back         BIGINT  1 for the operator's last build on the device, 2 for the one
--                        before, ...
--   series_id    BIGINT  Numbers device, model, backend, run, operator and unit.
--   unit         STRING  ns; ticks where the clock's rate is unknown.
--   value        DOUBLE  Value of the dump in that unit.
--   floor        DOUBLE  Smallest comparable value.
--   y            DOUBLE  Natural logarithm of the value.
--   change       STRUCT  The first build of the new level (split, counted like back);
--                        p and least_p of the test; the shift in log time, null where p
--                        is above 1e-4. Null with fewer than 3 builds.
--   is_after     INT     1 from that build on, 0 in up to 10 builds before, null
--                        further back.
WITH changes AS (
    SELECT
        series_id,
        find_change(array_sort(array_agg(array(y, CAST(back AS DOUBLE))))) AS change
    FROM operator_values
    GROUP BY series_id
)
SELECT
    v.dump_id, v.device, v.model, v.backend, v.run, v.event_name, v.delegate_id,
    v.ordinal, v.build, v.back, v.series_id, v.unit, v.value, v.floor, v.y, c.change,
    CASE
        WHEN v.back <= c.change.split THEN 1 WHEN v.back <= c.change.split + 10 THEN 0
    END AS is_after
FROM operator_values AS v
JOIN changes AS c ON c.series_id = v.series_id
