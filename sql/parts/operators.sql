-- operators: Values of each dump of two builds for each operator, method and delegate.
--
-- Reads recorded_dumps, reference builds included.
--
-- params:
--   run
--
-- columns:
--   level    STRING  method, delegate or operator.
--   dump_id
--   is_head  INT     1 for a dump of the head, 0 for one of the base; null for a
--                    reference build's.
--   device, pool, model, backend, run, event_name, delegate_id, ordinal, kind,
--   instruction_id, run_signature_id, event_signature_id, unit, value, floor,
--   half_tick, op_type
SELECT
    CASE o.kind
        WHEN 'method' THEN 'method' WHEN 'delegate_call' THEN 'delegate' ELSE 'operator'
    END AS level,
    o.dump_id, c.is_head, o.device, o.pool, o.model, o.backend,
    o.run, o.event_name, o.delegate_id, o.ordinal, o.kind, o.instruction_id,
    o.run_signature_id, o.event_signature_id, o.unit, o.value, o.floor, o.half_tick,
    o.op_type
FROM operator_stats AS o
JOIN recorded_dumps AS c ON c.dump_id = o.dump_id
WHERE (o.build IN (CAST(:base AS STRING), CAST(:head AS STRING))
        OR o.build_role = 'reference')
    AND o.dump_id IN (SELECT dump_id FROM recorded_dumps)
    AND o.kind NOT IN ('operator_call', 'load', 'delegate_phase')
    AND is_chosen(:run, o.run)
