-- levels: Values of each dump for each operator, and for several operators as one.
--
-- Reads operators. A type has the kernels, or the delegates' own operators, that differ
-- only in overload or number, if there are at least two of them. A module has all
-- operators inside it, and needs an ETRecord. A sum is null if one of its operators
-- lacks a value, and left out if units differ.
--
-- columns:
--   level               STRING  method, delegate, operator, operator_type or
--                               module.
--   dump_id             INT     Dump it was measured in.
--   is_head             INT     1 for a dump of the head, 0 for one of the base.
--   device              STRING  Name of the device.
--   pool                STRING  Device pool; null if none.
--   model               STRING  Name of the model.
--   backend             STRING  Backend of the model; null if none.
--   run                 STRING  Name of the runs, stable across builds.
--   event_name          STRING  Name of the operator, else its delegate id; type of
--                               operators, or path of the module.
--   delegate_id         STRING  Delegate debug id; null outside delegates.
--   ordinal             INT     Number among the build's instructions of that name and
--                               delegate id, from 1.
--   kind                STRING  Kind of the events.
--   instruction_id      INT     Instruction id in this build; null outside the program.
--   run_signature_id    BIGINT  Signature of the runs.
--   event_signature_id  BIGINT  Signature of the events.
--   unit                STRING  ns, or ticks of a clock of unknown rate.
--   value               DOUBLE  Time in that unit; null without enough events.
--   floor               DOUBLE  Smallest comparable value.
--   half_tick           DOUBLE  Half of the clock's resolution.
--   state_shift         DOUBLE  How far the state of the device moved from base to
--                               head, in log time; null where values have it.
WITH typed AS (
    SELECT
        *, count(*) OVER (
            PARTITION BY device, model, backend, run, run_signature_id, kind, name
        ) AS member_count
    FROM (
        SELECT
            device, model, backend, run, run_signature_id, event_signature_id, kind,
            CASE kind
                WHEN 'kernel'
                    THEN split_part(replace(event_name, 'native_call_', ''), '.', 1)
                ELSE split_part(event_name, ' #', 1)
            END AS name
        FROM (
            SELECT DISTINCT
                device, model, backend, run, run_signature_id, event_signature_id, kind,
                event_name
            FROM operators
            WHERE kind IN ('kernel', 'delegate_op')
        ) AS d
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
    JOIN types AS t
        ON t.device = o.device AND t.model = o.model
        AND t.backend IS NOT DISTINCT FROM o.backend AND t.run = o.run
        AND t.run_signature_id = o.run_signature_id
        AND t.event_signature_id = o.event_signature_id
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
    ) AS m
        ON m.etrecord_id = d.etrecord_id
        AND m.run_signature_id = o.run_signature_id
        AND m.event_signature_id = o.event_signature_id
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
