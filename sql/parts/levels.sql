-- levels: Values of each dump for each operator, and for several operators as one.
--
-- Reads operators. A type has the kernels, or the delegates' own operators, that differ
-- only in overload or number, if there are at least two of them. A module has all
-- operators inside it, and needs an ETRecord. A sum is null if one of its operators
-- lacks a value, and left out if units differ.
--
-- columns:
--   level, dump_id, is_head, device, pool, model, backend, run
--   event_name  STRING  Name of the operator, else its delegate id; type of operators,
--                       or path of the module.
--   delegate_id, ordinal, kind, instruction_id, run_signature_id, event_signature_id,
--   unit, value, floor, half_tick, state_shift
WITH typed AS (
    SELECT
        *, count(*) OVER (
            PARTITION BY device, model, backend, run, run_signature_id, kind, name
        ) AS member_count
    FROM (
        SELECT DISTINCT
            device, model, backend, run, run_signature_id, event_signature_id, kind,
            op_type AS name
        FROM operators
        WHERE op_type IS NOT NULL
    ) AS o
),
types AS (
    SELECT
        *, max(member_count) OVER (
            PARTITION BY device, model, backend, run, kind, name
        ) AS most_members
    FROM typed
),
members AS (
    SELECT
        'operator_type' AS level, o.dump_id, o.is_head, o.device, o.pool, o.model,
        o.backend, o.run, t.name, o.kind, o.unit, o.value, o.floor, o.half_tick,
        o.state_shift
    FROM operators AS o
    JOIN types AS t ON same_family(t, o) AND t.run = o.run AND same_event(t, o)
    WHERE t.most_members > 1
    UNION ALL
    SELECT
        'module' AS level, o.dump_id, o.is_head, o.device, o.pool, o.model, o.backend,
        o.run, m.module_path AS name, 'module' AS kind, o.unit, o.value, o.floor,
        o.half_tick, o.state_shift
    FROM operators AS o
    JOIN dumps AS d ON d.dump_id = o.dump_id
    JOIN (
        SELECT DISTINCT
            etrecord_id, run_signature_id, event_signature_id, module_path
        FROM event_modules
        WHERE is_total
    ) AS m ON m.etrecord_id = d.etrecord_id AND same_event(m, o)
),
sums AS (
    SELECT
        level, dump_id, is_head, device, pool, model, backend, run, name, kind,
        min(unit) AS unit, whole_sum(value) AS value,
        max(floor) AS floor, max(half_tick) AS half_tick,
        max_by(state_shift, abs(state_shift)) AS state_shift
    FROM members
    GROUP BY level, dump_id, is_head, device, pool, model, backend, run, name, kind
    HAVING min(unit) = max(unit)
)
SELECT
    level, dump_id, is_head, device, pool, model, backend, run, event_name,
    delegate_id, ordinal, kind, instruction_id, run_signature_id, event_signature_id,
    unit, value, floor, half_tick, state_shift
FROM operators
UNION ALL
SELECT
    level, dump_id, is_head, device, pool, model, backend, run, name AS event_name,
    CAST(NULL AS STRING) AS delegate_id, 1 AS ordinal, kind,
    CAST(NULL AS INT) AS instruction_id, CAST(NULL AS BIGINT) AS run_signature_id,
    CAST(NULL AS BIGINT) AS event_signature_id,
    unit, value, floor, half_tick, state_shift
FROM sums
