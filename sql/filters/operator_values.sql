-- operator_values: Values of operators in the chosen dumps, for comparisons.
--
-- Reference builds, which are recorded with others, are left out unless `build` names
-- them.
--
-- params:
--   event        STRING[] OF named_event_signatures.event_name = NULL  Only events of
--                               these names, e.g. 'native_call_conv*', or of these
--                               delegate ids if they have no name.
--   delegate_id  STRING[] OF named_event_signatures.delegate_id = NULL  Only these
--                               delegate debug ids.
--   ordinal      INT(1..) = NULL  Only the n-th instruction of a name and delegate
--                               id in its run, from 1.
--
-- filters: chosen_operators
--
-- columns:
--   dump_id, device, model, backend, run, event_name, delegate_id, ordinal, kind, build
--   position  INT     Place of the build in builds_in_order.
--   back      BIGINT  1 for the operator's last build on the device, 2 for the one
--                     before, ...
--   series_id, unit
--   value     DOUBLE  Value of the dump in that unit.
--   floor
--   y         DOUBLE  Natural logarithm of the value; a value of 0 counts as 1.
SELECT
    o.dump_id, o.device, o.model, o.backend, o.run, o.event_name, o.delegate_id,
    o.ordinal, o.kind, o.build, b.position,
    dense_rank() OVER (
        PARTITION BY
            o.device, o.model, o.backend, o.run, o.event_name, o.delegate_id,
            o.ordinal, o.unit
        ORDER BY b.position DESC
    ) AS back,
    dense_rank() OVER (
        ORDER BY
            o.device, o.model, o.backend, o.run, o.event_name, o.delegate_id,
            o.ordinal, o.unit
    ) AS series_id,
    o.unit, o.value, o.floor, ln(greatest(o.value, 1e0)) AS y
FROM chosen_operators AS o
JOIN builds_in_order AS b ON b.build = o.build
WHERE o.value IS NOT NULL
    AND (o.build_role IS NULL OR CAST(:build AS ARRAY<STRING>) IS NOT NULL)
    AND o.kind NOT IN ('operator_call', 'load', 'delegate_phase')
    AND is_chosen(:event, o.event_name)
    AND is_chosen(:delegate_id, o.delegate_id)
    AND (CAST(:ordinal AS INT) IS NULL OR o.ordinal = CAST(:ordinal AS INT))
