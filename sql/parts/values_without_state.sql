-- values_without_state: Values, without the state of the device where it is known.
--
-- Reads relative_values and states. A device whose state moved by less than 3 % was
-- steady: its values stay as they are, those of a method if both its units were.
--
-- columns:
--   level               STRING  method, delegate or operator.
--   dump_id             INT     Dump it was measured in.
--   is_head             INT     1 for a dump of the head, 0 for one of the base.
--   device              STRING  Name of the device.
--   pool                STRING  Device pool; null if none.
--   model               STRING  Name of the model.
--   backend             STRING  Backend of the model; null if none.
--   run                 STRING  Name of the runs that holds across builds.
--   event_name          STRING  Name of the operator, else its delegate id.
--   delegate_id         STRING  Delegate debug id; null outside delegates.
--   ordinal             INT     Which of the build's instructions of that name and
--                               delegate id, from 1.
--   kind                STRING  Kind of the events.
--   instruction_id      INT     Instruction id in this build; null outside the program.
--   run_signature_id    BIGINT  Signature of the runs.
--   event_signature_id  BIGINT  Signature of the events.
--   unit                STRING  ns, or ticks of a clock of unknown rate.
--   value               DOUBLE  Time in that unit; null without enough events.
--   floor               DOUBLE  Least value that can be compared.
--   half_tick           DOUBLE  Half of what the clock can tell apart.
--   reference           STRING  Reference build that the value is relative to; null if
--                               none.
--   state_shift         DOUBLE  How far the state of the device moved from base to
--                               head, in log time; null where the value has it.
SELECT
    level, dump_id, is_head, device, pool, model, backend, run, event_name,
    delegate_id, ordinal, kind, instruction_id, run_signature_id, event_signature_id,
    unit, CASE WHEN is_moved THEN value * exp(-state) ELSE value END AS value, floor,
    half_tick, reference, CASE WHEN is_moved THEN state_shift END AS state_shift
FROM (
    SELECT
        *, CASE
            WHEN kind = 'method' THEN greatest(abs(kernel_shift), abs(delegate_shift))
            ELSE abs(state_shift)
        END >= 3e-2 AND state IS NOT NULL AS is_moved
    FROM (
        SELECT
            r.*,
            CASE
                WHEN r.kind IN ('delegate_op', 'delegate_call') THEN s.delegate_state
                WHEN r.kind = 'method' THEN s.method_state
                ELSE s.kernel_state
            END AS state,
            CASE
                WHEN r.kind IN ('delegate_op', 'delegate_call') THEN s.delegate_shift
                WHEN r.kind = 'method' THEN s.method_shift
                ELSE s.kernel_shift
            END AS state_shift,
            coalesce(s.kernel_shift, 0e0) AS kernel_shift,
            coalesce(s.delegate_shift, 0e0) AS delegate_shift
        FROM relative_values AS r
        LEFT JOIN states AS s
            ON s.dump_id = r.dump_id AND s.run = r.run AND r.reference IS NULL
    ) AS j
) AS v
