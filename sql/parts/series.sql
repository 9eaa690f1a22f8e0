-- series: The compared series: one operator, or several as one, of a model's runs.
--
-- Reads measured.
--
-- columns:
--   series_id, family_id, level, device, pool, model, backend, run
--   event_name      STRING  Name of the operator, type or module.
--   delegate_id, ordinal, kind
--   instruction_id  INT     Instruction id in the head; null outside the program.
--   unit, floor, half_tick, state_shift, has_base, has_head
SELECT
    CAST(row_number() OVER (
        ORDER BY
            level, device, model, backend NULLS LAST, run, event_name,
            delegate_id NULLS LAST, ordinal
    ) AS BIGINT) AS series_id,
    CAST(dense_rank() OVER (
        ORDER BY
            CASE WHEN level IN ('method', 'delegate') THEN 'operator' ELSE level END,
            device, model, backend NULLS LAST, run
    ) AS BIGINT) AS family_id,
    level, device, pool, model, backend, run, event_name, delegate_id, ordinal,
    kind, instruction_id, unit, floor, half_tick, state_shift, has_base,
    has_head
FROM (
    SELECT
        level, device, model, backend, run, event_name, delegate_id, ordinal,
        CASE WHEN min(pool) = max(pool) THEN min(pool) END AS pool,
        min(kind) AS kind,
        min(CASE WHEN is_head = 1 THEN instruction_id END) AS instruction_id,
        min(unit) AS unit, max(floor) AS floor, max(half_tick) AS half_tick,
        max_by(state_shift, abs(state_shift)) AS state_shift,
        max(1 - is_head) AS has_base, max(is_head) AS has_head
    FROM measured
    GROUP BY level, device, model, backend, run, event_name, delegate_id, ordinal
) AS s
