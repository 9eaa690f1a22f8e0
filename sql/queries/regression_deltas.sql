-- regression_deltas: Operators of two builds compared, with a verdict for each.
--
-- The sample is the dump: its value is the median of the operator after warm-up, if
-- enough events are left. Values are compared in log time by a two-sided Mann-Whitney
-- test (exact up to 30 dumps a side, else normal), with the Hodges-Lehmann ratio and
-- its 99 % interval, and adjusted for many tests per device, model and backend
-- (Benjamini-Hochberg). Where processes run an operator in one of two modes, modes are
-- compared with modes: each value less the centre of its mode, unless nearly all
-- of the head left the mode of nearly all of the base. Operators are matched by name,
-- delegate id and ordinal: ids shift when one is inserted.
--
-- Verdicts, the first that applies: new_op, removed_op (the other build ran here
-- without it, and not as its runs failed), needs_more_dumps (fewer than 8 in a build),
-- below_resolution (neither build reaches what its clock can compare), needs_more_dumps
-- (too few for a single difference to stand out among so many operators), regression,
-- improvement (p_adjusted <= q, a change of min_change or more and of half a tick or
-- more, an interval without 0), mode_mix (the share of slow processes changed, at q,
-- and nothing else), explained_by_run_shift (see below), unchanged (the interval lies
-- within min_change), inconclusive (a change of min_change could hide). A regression is
-- moved instead if improvements of the same model make up for it, to a quarter, and the
-- method did not change; so is an improvement. Alike for a factor and its inverse:
-- base and head swapped give the opposite verdict.
--
-- Where both builds were recorded in sessions with a reference build (build.role in the
-- manifest), values are relative to it, and the device's state cancels. Without one,
-- builds that were recorded in turns are compared as they are. Between builds recorded
-- apart the state of the device may have changed, which moves all operators of a dump:
-- it is estimated from the operators themselves, three or more, and removed
-- (residual), unless it moved by less than 3 %. A change must then exceed
-- min_change by 15 % of the state's, and stand out from those of the other operators (3
-- times their standard deviation). A method or delegate of
-- which nothing is left is explained_by_run_shift if the state moved by min_change or
-- more: due to the device or the whole build; only recording in turns shows which.
--
-- Where both builds have values of 8 or more pairs of dumps (run.session and run.pair
-- of the manifest), these alone count, and their differences are judged: by Wilcoxon's
-- signed-rank test (exact up to 30 pairs), and the median of the mean differences with
-- its 99 % interval. Where all have the same sign, Student's t may say that they are
-- rarer, down to what a Mann-Whitney test of as many dumps can say.
--
-- filters: compared_dumps
--
-- parts: recorded_dumps, operators AS absolute, relative AS relative_values
-- parts: values_without_state AS measured, verdicts, modules
--
-- next: build_history, run_shifts, exact_changes
--
-- columns:
--   device, model, backend, run, event_name, delegate_id, ordinal, base_count,
--   head_count
--   base_ns         DOUBLE  Median of the base's dump values, nanoseconds; null without
--                           dumps, and for clocks of unknown rate, whose ticks are
--                           compared.
--   head_ns         DOUBLE  Median of the head's values; null likewise; lower is
--                           better.
--   delta, delta_low, delta_high, p_adjusted, minimum_detectable, verdict
--   instruction_id  INT     Instruction id in the head; null outside the program, and
--                           for a removed_op.
--   module_path     STRING  Module whose own nodes it runs in the head, '' if the
--                           program's; null if they are several, or without an
--                           ETRecord.
--   kind, pool, cost_ns, dumps_needed, reference, frame, state_delta
SELECT
    v.device, v.model, v.backend, v.run, v.event_name, v.delegate_id, v.ordinal,
    v.base_count, v.head_count,
    CASE WHEN v.unit = 'ns' THEN v.base_value END AS base_ns,
    CASE WHEN v.unit = 'ns' THEN v.head_value END AS head_ns,
    exp(v.shift) - 1 AS delta,
    exp(v.low) - 1 AS delta_low, exp(v.high) - 1 AS delta_high,
    v.p_adjusted, exp((v.high - v.low) / 2) - 1 AS minimum_detectable, v.verdict,
    v.instruction_id, m.module_path, v.kind, v.pool,
    CASE WHEN v.unit = 'ns' THEN v.cost END AS cost_ns, v.dumps_needed,
    r.reference, CASE
        WHEN v.is_paired THEN 'paired'
        WHEN r.reference IS NOT NULL THEN 'reference'
        WHEN v.state_shift IS NOT NULL THEN 'residual'
        ELSE 'raw'
    END AS frame, exp(v.state_shift) - 1 AS state_delta
FROM verdicts AS v
LEFT JOIN modules AS m ON m.series_id = v.series_id
LEFT JOIN (
    SELECT device, model, backend, max(reference) AS reference
    FROM measured
    GROUP BY device, model, backend
) AS r ON same_family(r, v)
WHERE v.level <> 'pool'
ORDER BY
    v.device, v.model, v.backend NULLS LAST, v.run, v.event_name,
    v.delegate_id NULLS LAST, v.ordinal
