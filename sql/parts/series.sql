-- series: The compared series: one operator, or several as one, of a model's runs.
--
-- Reads measured.
--
-- columns:
--   series_id       BIGINT  Number of the series.
--   family_id       BIGINT  Number of the family whose false alarms are controlled
--                           together.
--   level           STRING  What it is.
--   device          STRING  Name of the device.
--   pool            STRING  Its pool; null if none or several.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   run             STRING  Name of the runs, stable across builds.
--   event_name      STRING  Name of the operator, type or module.
--   delegate_id     STRING  Delegate debug id; null outside delegates.
--   ordinal         INT     Which instruction of that name and delegate id.
--   kind            STRING  Kind of the events.
--   instruction_id  INT     Instruction id in the head; null outside the program.
--   unit            STRING  Unit that its values are compared in.
--   floor           DOUBLE  Smallest comparable value.
--   half_tick       DOUBLE  Half of the clock's resolution.
--   state_shift     DOUBLE  How far the state of the device moved from base to head, in
--                           log time; null where values have it.
--   has_base        INT     Whether the base has it, even if no dump counts.
--   has_head        INT     Whether the head has it.
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
