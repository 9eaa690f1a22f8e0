-- scanned_values: Values of operators with the build where they most likely changed.
--
-- The function find_change finds that build.
--
-- filters: operator_values
--
-- columns:
--   dump_id, device, model, backend, run, event_name, delegate_id, ordinal, build
--   back      BIGINT  1 for the operator's last build on the device, 2 for the one
--                     before, ...
--   series_id, unit
--   value     DOUBLE  Value of the dump in that unit.
--   floor
--   y         DOUBLE  Natural logarithm of the value.
--   change    STRUCT  The first build of the new level (split, counted like back); p
--                     and least_p of the test; the shift in log time, null where p is
--                     above 1e-4. Null with fewer than 3 builds.
--   is_after  INT     1 from that build on, 0 in up to 10 builds before, null further
--                     back.
WITH changes AS (
    -- Of older builds the function reads none.
    SELECT
        series_id,
        find_change(array_sort(array_agg(array(y, CAST(back AS DOUBLE))))) AS change
    FROM operator_values
    WHERE back <= 18
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
