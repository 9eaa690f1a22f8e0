-- operator_values: Values of operators in the chosen dumps, as comparisons take them.
--
-- Builds come in the order of their ordinals, else of their commit times, else of their
-- first recordings.
--
-- params:
--   event        STRING[] OF named_event_signatures.event_name = NULL  Only operators
--                                                                      of these names,
--                                                                      e.g. native_call
--                                                                      _convolution.out
--                                                                      or
--                                                                      'native_call_*';
--                                                                      delegate ids
--                                                                      where they have
--                                                                      none.
--   delegate_id  STRING[] OF named_event_signatures.delegate_id = NULL  Only these
--                                                                       delegate debug
--                                                                       ids.
--   ordinal      INT(1..) = NULL  Only the n-th instruction of a name and delegate id,
--                                 from 1.
--
-- filters: chosen_dumps
--
-- columns:
--   dump_id      INT     Number of the dump.
--   device       STRING  Name of the device.
--   model        STRING  Name of the model.
--   backend      STRING  Backend of the model; null if none.
--   event_name   STRING  Name of the operator, else its delegate id.
--   delegate_id  STRING  Delegate debug id; null outside delegates.
--   ordinal      INT     Which of the build's instructions of that name and delegate
--                        id, from 1.
--   kind         STRING  Kind of the events.
--   build        STRING  Id of the build.
--   position     BIGINT  Place of the build in their order, from 1.
--   back         BIGINT  1 for the operator's last build on the device, 2 for the one
--                        before, ...
--   series_id    BIGINT  Numbers device, model, backend and operator.
--   value_ns     DOUBLE  Value of the dump, nanoseconds.
--   floor_ns     DOUBLE  Least time that can be compared.
--   y            DOUBLE  Natural logarithm of the value; a time of 0 counts as 1 ns.
WITH builds_in_order AS (
    SELECT
        build, row_number() OVER (
            ORDER BY
                build_ordinal NULLS LAST, committed_at NULLS LAST,
                min(captured_at) NULLS LAST, build
        ) AS position
    FROM named_dumps
    GROUP BY build, build_ordinal, committed_at
)
SELECT
    o.dump_id, o.device, o.model, o.backend, o.event_name, o.delegate_id, o.ordinal,
    o.kind, o.build, b.position,
    dense_rank() OVER (
        PARTITION BY
            o.device, o.model, o.backend, o.event_name, o.delegate_id, o.ordinal
        ORDER BY b.position DESC
    ) AS back,
    dense_rank() OVER (
        ORDER BY o.device, o.model, o.backend, o.event_name, o.delegate_id, o.ordinal
    ) AS series_id,
    o.value_ns, o.floor_ns, ln(greatest(o.value_ns, 1e0)) AS y
FROM operator_stats AS o
JOIN builds_in_order AS b ON b.build = o.build
WHERE o.dump_id IN (SELECT dump_id FROM chosen_dumps)
    AND o.value_ns IS NOT NULL
    AND o.kind NOT IN ('operator_call', 'load')
    AND (CAST(:event AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:event AS ARRAY<STRING>), o.event_name))
    AND (CAST(:delegate_id AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:delegate_id AS ARRAY<STRING>), o.delegate_id))
    AND o.ordinal = coalesce(CAST(:ordinal AS INT), o.ordinal)
