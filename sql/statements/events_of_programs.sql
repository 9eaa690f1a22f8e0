-- The profiled events of run signatures ($programs) in their order.
SELECT
    n.run_signature_id AS program, n.event_signature_id AS id, n.instruction_id AS instruction,
    n.event_name, n.delegate_id, n.ordinal, n.kind, n.op_type, m.module_path AS module,
    coalesce(nullif(e.name, ''), e.delegate_id_str, n.event_name) AS logged_name
FROM program_events AS n
JOIN event_signatures AS e ON e.event_signature_id = n.event_signature_id
LEFT JOIN (
    SELECT run_signature_id, event_signature_id, min(module_path) AS module_path
    FROM own_modules
    GROUP BY run_signature_id, event_signature_id
) AS m ON same_event(m, n)
WHERE e.is_profiled AND n.run_signature_id IN (SELECT unnest($programs))
ORDER BY n.run_signature_id, n.place
