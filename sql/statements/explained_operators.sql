-- Operators, methods and delegate calls of some dumps ($dumps), under the names that builds have in
-- common, with what they are in their own program. Rows of a run are in the order of its events.
SELECT
    o.dump_id, o.run, o.run_signature_id, o.event_signature_id, o.event_name, o.delegate_id,
    o.ordinal, s.kind, coalesce(nullif(s.event_name, ''), s.delegate_id) AS own_name,
    s.instruction_id
FROM operator_stats AS o
JOIN named_event_signatures AS s ON s.event_signature_id = o.event_signature_id
JOIN run_signatures AS g ON g.run_signature_id = o.run_signature_id
WHERE o.dump_id IN (SELECT unnest($dumps))
    AND s.kind IN ('method', 'kernel', 'delegate_call', 'delegate_op')
ORDER BY o.dump_id, o.run, o.run_signature_id, list_position(g.events, o.event_signature_id)
