-- operator_values: Values of operators in the chosen dumps, for comparisons.
--
-- Reference builds, which are recorded with others, are left out unless `build` names
-- them.
--
-- params:
--   event, delegate_id, ordinal
--
-- filters: chosen_operators
--
-- columns:
--   dump_id, device, model, backend, run, event_name, delegate_id, ordinal, kind, build
--   position  INT     Place of the build in builds_in_order.
--   unit
--   value     DOUBLE  Value of the dump in that unit.
--   floor
--   y         DOUBLE  Natural logarithm of the value; a value of 0 counts as 1.
SELECT
    o.dump_id, o.device, o.model, o.backend, o.run, o.event_name, o.delegate_id,
    o.ordinal, o.kind, o.build, b.position, o.unit, o.value, o.floor,
    ln(greatest(o.value, 1e0)) AS y
FROM chosen_operators AS o
JOIN builds_in_order AS b ON b.build = o.build
WHERE o.value IS NOT NULL
    AND (o.build_role IS NULL OR CAST(:build AS ARRAY<STRING>) IS NOT NULL)
    AND o.kind NOT IN ('operator_call', 'load', 'delegate_phase')
    AND is_chosen(:event, o.event_name)
    AND is_chosen(:delegate_id, o.delegate_id)
    AND (CAST(:ordinal AS INT) IS NULL OR o.ordinal = CAST(:ordinal AS INT))
