-- operators: Values of each dump of two builds for each operator, method and delegate.
--
-- Reads recorded_dumps, reference builds included.
--
-- params:
--   run  STRING[] OF named_run_signatures.run = NULL  Only these runs, e.g. 'Execute
--                 #2'.
--
-- columns:
--   level               STRING  method, delegate or operator.
--   dump_id             INT     Dump it was measured in.
--   is_head             INT     1 for a dump of the head, 0 for one of the base; null
--                               for a reference build's.
--   device              STRING  Name of the device.
--   pool                STRING  Device pool; null if none.
--   model               STRING  Name of the model.
--   backend             STRING  Backend of the model; null if none.
--   run                 STRING  Name of the runs, stable across builds.
--   event_name          STRING  Name of the operator, else its delegate id.
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
--   op_type             STRING  Type of the operator; null for calls and methods.
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
    AND o.kind NOT IN ('operator_call', 'load', 'delegate_phase')
    AND (CAST(:run AS ARRAY<STRING>) IS NULL
        OR array_contains(CAST(:run AS ARRAY<STRING>), o.run))
