-- comparison: Two builds compared: operators, their types, modules, delegates, methods.
--
-- Rows of the levels method, delegate and operator are those of regression_deltas,
-- which explains the verdicts. An operator_type is the sum over its operators, whatever
-- the overload of a kernel or the number of a delegate's operator. A module, which
-- needs an ETRecord, is the sum over all operators inside it. So operators that are too
-- small to compare alone are compared together. A pool is one operator on all devices
-- on which both builds ran: their evidence is combined (stratified Mann-Whitney test).
-- False alarms are controlled separately for types, modules and pools.
--
-- filters: compared_dumps
--
-- parts: recorded_dumps, operators AS absolute, relative AS relative_values
-- parts: values_without_state AS operators
-- parts: levels AS measured, verdicts, modules, notes, explanations
--
-- next: regression_deltas, exact_changes
--
-- columns:
--   level, device, model, backend, run
--   event_name      STRING  Name of the operator, else its delegate id; type of
--                           operators, or path of the module.
--   delegate_id, ordinal, base_count, head_count
--   base_ns         DOUBLE  Median of the base's dump values, nanoseconds (for a pool
--                           its devices' mean); null without dumps, and for clocks of
--                           unknown rate, whose ticks are compared.
--   head_ns         DOUBLE  Median of the head's values; null likewise; lower is
--                           better.
--   delta, delta_low, delta_high, p_adjusted, minimum_detectable, verdict
--   instruction_id  INT     Instruction id in the head; null outside the program, and
--                           for a removed_op.
--   module_path     STRING  Module whose own nodes it runs in the head, '' if the
--                           program's; null if they are several, or without an
--                           ETRecord.
--   kind, pool, cost_ns, dumps_needed, reference, frame, state_delta
--   change_share    DOUBLE  cost_ns over the method's; null if the method is not known
--                           to have changed.
--   explained_by    STRING  Of a method or delegate that changed, the three that add
--                           most to it, with their shares; null otherwise.
--   may_be          STRING  Of a delegate that changed though no operator in it shows
--                           it, the three longest that could hide half of it; null
--                           otherwise.
--   note            STRING  Other differences between the dumps than the build, such as
--                           os_version or threads; otherwise null.
SELECT
    v.level, v.device, v.model, v.backend, v.run, v.event_name, v.delegate_id,
    v.ordinal, v.base_count, v.head_count,
    CASE WHEN v.unit = 'ns' THEN v.base_value END AS base_ns,
    CASE WHEN v.unit = 'ns' THEN v.head_value END AS head_ns,
    exp(v.shift) - 1 AS delta,
    exp(v.low) - 1 AS delta_low, exp(v.high) - 1 AS delta_high,
    v.p_adjusted, exp((v.high - v.low) / 2) - 1 AS minimum_detectable, v.verdict,
    v.instruction_id,
    CASE WHEN v.level = 'module' THEN v.event_name ELSE m.module_path END
        AS module_path,
    v.kind, v.pool, CASE WHEN v.unit = 'ns' THEN v.cost END AS cost_ns, v.dumps_needed,
    r.reference, CASE
        WHEN v.is_paired THEN 'paired'
        WHEN r.reference IS NOT NULL THEN 'reference'
        WHEN v.state_shift IS NOT NULL THEN 'residual'
        ELSE 'raw'
    END AS frame, exp(v.state_shift) - 1 AS state_delta,
    CASE WHEN v.unit = 'ns' THEN v.cost END / nullif(sum(CASE
        WHEN v.kind = 'method' AND v.unit = 'ns' THEN v.cost
    END) OVER (
        PARTITION BY v.level = 'pool', v.device, v.pool, v.model, v.backend, v.run
        ORDER BY v.cost
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ), 0e0) AS change_share,
    e.explained_by, e.may_be, n.note
FROM verdicts AS v
LEFT JOIN modules AS m ON m.series_id = v.series_id
LEFT JOIN notes AS n ON same_family(n, v)
LEFT JOIN (
    SELECT device, model, backend, max(reference) AS reference
    FROM operators
    GROUP BY device, model, backend
) AS r ON same_family(r, v)
LEFT JOIN explanations AS e ON e.series_id = v.series_id
ORDER BY
    v.level, v.device NULLS LAST, v.pool NULLS LAST, v.model, v.backend NULLS LAST,
    v.run, v.event_name, v.delegate_id NULLS LAST, v.ordinal
