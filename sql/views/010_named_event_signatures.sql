-- named_event_signatures: Event signatures under the names people use.
--
-- columns:
--   event_signature_id
--   event_name   STRING  Name of the event; where it has none, its logged name, else
--                        its delegate id; '' without any.
--   instruction_id
--   delegate_id  STRING  Delegate debug id, integers as text; null outside delegates.
--                        Vulkan's id is a JSON text with a node of its program and
--                        numbers that vary between processes: it becomes 'KERNEL
--                        #NODE'.
--   kind         STRING  method, load, operator_call, kernel, delegate_call,
--                        delegate_op, delegate_phase, delegate_counter, control or
--                        other.
--   op_type      STRING  Type of the operator: a kernel's name without native_call_,
--                        namespace and overload, or the event_name of a delegate's
--                        operator without its number ('Conv' of 'Conv #3'); null for
--                        other kinds.
--   unit         STRING  Unit of the value: ns, us, ms, s, a counter's unit, or
--                        unknown; null for ticks of the dump's clocks.
--   unit_ns      DOUBLE  Nanoseconds of that unit; null if it is none of time.
SELECT
    event_signature_id, event_name, instruction_id, delegate_id, kind,
    CASE kind
        WHEN 'kernel' THEN split_part(split_part(
            replace(event_name, 'native_call_', ''), '.', 1
        ), '::', -1)
        WHEN 'delegate_op' THEN split_part(event_name, ' #', 1)
    END AS op_type,
    unit,
    CASE unit
        WHEN 'ns' THEN 1e0
        WHEN 'us' THEN 1e3
        WHEN 'ms' THEN 1e6
        WHEN 's' THEN 1e9
    END AS unit_ns
FROM (
    SELECT
        event_signature_id, instruction_id, delegate_id, kind, unit,
        coalesce(nullif(name, ''), nullif(debug_name, ''), delegate_id, '')
            AS event_name
    FROM (
        SELECT
            *, coalesce(
                CAST(delegate_id_int AS STRING),
                CASE
                    WHEN substr(delegate_id_str, 1, 1) = '{'
                        THEN nullif(split_part(split_part(
                            delegate_id_str, '"kernel_name": "', 2
                        ), '"', 1), '') || ' #' || nullif(trim(split_part(split_part(
                            split_part(delegate_id_str, '"delegate_node_id":', 2),
                            ',', 1
                        ), '}', 1)), '')
                END,
                delegate_id_str
            ) AS delegate_id
        FROM event_signatures
    ) AS s
) AS n
