-- dump_values: The value of each dump for each operator, as in comparisons.
--
-- Each dump has one value, for its runs resemble one another: the grouped median of the
-- operator after warm-up (from the sixth run on). A dump with fewer than 20 such events
-- has no row. Reference builds have rows if `build` names them.
--
-- filters: operator_values
--
-- portions: device
--
-- columns:
--   device, model, backend, run, event_name, delegate_id, ordinal, kind, build
--   dump_id  BIGINT  Number of the dump.
--   unit
--   value    DOUBLE(unit)  Its value in that unit; lower is better.
--   floor
SELECT
    device, model, backend, run, event_name, delegate_id, ordinal, kind,
    build, CAST(dump_id AS BIGINT) AS dump_id, unit, value, floor
FROM operator_values
ORDER BY
    device, model, backend NULLS LAST, run, event_name, delegate_id NULLS LAST,
    ordinal, unit, position, dump_id
