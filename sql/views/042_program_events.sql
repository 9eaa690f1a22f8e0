-- program_events: The events of run signatures in their order, with their numbers.
--
-- columns:
--   run_signature_id, event_signature_id
--   place    INT  Place in the run signature, from 1.
--   ordinal  INT  1 for the run's first instruction of that name and delegate id, then
--                 2, ...
--   event_name, delegate_id, instruction_id, kind, op_type
SELECT
    l.run_signature_id, l.event_signature_id,
    CAST(array_position(l.events, l.event_signature_id) AS INT) AS place,
    CAST(dense_rank() OVER (
        PARTITION BY l.run_signature_id, s.event_name, s.delegate_id
        ORDER BY s.instruction_id NULLS LAST
    ) AS INT) AS ordinal,
    s.event_name, s.delegate_id, s.instruction_id, s.kind, s.op_type
FROM (
    SELECT events, run_signature_id, explode(events) AS event_signature_id
    FROM run_signatures
) AS l
JOIN named_event_signatures AS s ON s.event_signature_id = l.event_signature_id
WHERE s.unit IS NULL OR s.unit_ns IS NOT NULL
