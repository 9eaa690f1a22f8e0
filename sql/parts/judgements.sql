-- judgements: The verdict on each series by itself.
--
-- Reads scored and tested.
--
-- params:
--   q           SHARE(0..1) = 0.01  Share of false alarms accepted among alarms.
--   min_change  SHARE(0..) = 0.03   Smallest change that counts, as a share.
--
-- columns:
--   series_id, family_id, level, device, pool, model, backend, run
--   event_name      STRING  Name of the operator, type or module.
--   delegate_id, ordinal, kind
--   instruction_id  INT     Instruction id in the head; null outside the program.
--   unit, half_tick, base_count, head_count, base_value, head_value, shift, low, high,
--   state_shift, p_adjusted, dumps_needed
--   verdict         STRING  See regression_deltas; without moved.
--   cost, is_paired
WITH weighed AS (
    SELECT
        s.series_id, s.family_id, s.level, s.device, s.pool, s.model, s.backend, s.run,
        s.event_name, s.delegate_id, s.ordinal, s.kind, s.instruction_id, s.unit,
        s.half_tick, s.has_base, s.has_head, s.base_count, s.head_count, s.base_value,
        s.head_value, s.results.shift AS shift, s.results.low AS low,
        s.results.high AS high, s.results.least_p AS least_p,
        s.is_paired, t.is_tested, t.test_count, t.p_adjusted, t.mode_p,
        -- A few failed runs do not show which operators a build runs.
        substr(s.run, -12) <> '(incomplete)' OR s.base_count + s.head_count > 0
            AS is_usual,
        t.base_ran, t.head_ran, least(s.base_count, s.head_count) AS n,
        -- A last digit lost to rounding does not count, as in reaches(x, y).
        CAST(:q AS DOUBLE) AS q, ln(1 + CAST(:min_change AS DOUBLE)) - 1e-12 AS margin,
        s.state_shift,
        -- Operators react differently to a shift, by about this share of it; a change
        -- must stand out from the apparent changes of the others.
        15e-2 * coalesce(abs(s.state_shift), 0e0) AS doubt,
        3 * coalesce(t.scatter, 0e0) AS scatter_limit,
        CAST(needed_dumps(CAST(:q AS DOUBLE) / greatest(t.rival_count, 1)) AS BIGINT)
            AS n_needed
    FROM scored AS s
    JOIN tested AS t ON t.series_id = s.series_id
),
stepped AS (
    SELECT
        *, sign(shift) * (1 - exp(-abs(shift))) * greatest(base_value, head_value)
            AS step
    FROM weighed
),
judged AS (
    SELECT
        *, CASE
            WHEN base_ran = 1 AND has_base = 0 AND is_usual THEN 'new_op'
            WHEN head_ran = 1 AND has_head = 0 AND is_usual THEN 'removed_op'
            WHEN n < 8 THEN 'needs_more_dumps'
            WHEN NOT is_tested THEN 'below_resolution'
            WHEN least_p > q / test_count THEN 'needs_more_dumps'
            WHEN p_adjusted <= q AND reaches(abs(step), half_tick)
                AND low > 0 AND shift >= greatest(margin + doubt, scatter_limit)
                THEN 'regression'
            WHEN p_adjusted <= q AND reaches(abs(step), half_tick)
                AND high < 0 AND shift <= -greatest(margin + doubt, scatter_limit)
                THEN 'improvement'
            WHEN mode_p <= q THEN 'mode_mix'
            WHEN level IN ('method', 'delegate') AND abs(state_shift) >= margin
                THEN 'explained_by_run_shift'
            WHEN greatest(high, -low) + doubt <= margin THEN 'unchanged'
            ELSE 'inconclusive'
        END AS verdict
    FROM stepped
)
SELECT
    series_id, family_id, level, device, pool, model, backend,
    run, event_name, delegate_id, ordinal, kind, instruction_id, unit,
    half_tick, base_count, head_count, base_value, head_value, shift, low, high,
    state_shift, p_adjusted,
    CAST(CASE
        WHEN verdict = 'needs_more_dumps' THEN greatest(n_needed - n, 1)
        WHEN verdict = 'inconclusive'
            AND NOT (
                p_adjusted <= q AND NOT reaches(abs(step), half_tick)
                AND abs(shift) >= margin
            )
            THEN greatest(
                ceil(n * power((high - low) / 2 / nullif(margin, 0e0), 2)) - n, 1
            )
    END AS BIGINT) AS dumps_needed,
    verdict,
    CASE
        WHEN verdict IN ('regression', 'improvement') THEN step
        WHEN verdict = 'new_op' THEN coalesce(head_value, 0e0)
        WHEN verdict = 'removed_op' THEN coalesce(-base_value, 0e0)
        ELSE 0e0
    END AS cost, is_paired
FROM judged
