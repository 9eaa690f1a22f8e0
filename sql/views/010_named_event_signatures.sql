-- named_event_signatures: Event signatures under the names people use.
--
-- columns:
--   event_signature_id  BIGINT  Signature of the event.
--   event_name          STRING  Name of the event; where it has none, its logged name,
--                               else its delegate id; '' without any.
--   instruction_id      INT     Instruction id; null outside the program.
--   delegate_id         STRING  Delegate debug id, an integer one as text; null outside
--                               delegates.
--   kind                STRING  method, load, operator_call, kernel, delegate_call,
--                               delegate_op, delegate_phase, control or other.
SELECT
    event_signature_id,
    coalesce(
        nullif(name, ''), nullif(debug_name, ''),
        CAST(delegate_id_int AS STRING), delegate_id_str, ''
    ) AS event_name,
    instruction_id,
    coalesce(CAST(delegate_id_int AS STRING), delegate_id_str) AS delegate_id,
    kind
FROM event_signatures
