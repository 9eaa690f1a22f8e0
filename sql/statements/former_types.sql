-- Types of operators in builds whose programs name the type otherwise than the newest one does.
SELECT DISTINCT
    b.name AS build, a.model, a.backend, a.run, a.event_name, a.delegate_id, a.ordinal, s.op_type
FROM aligned_operators AS a
JOIN named_event_signatures AS s ON s.event_signature_id = a.event_signature_id
JOIN named_run_signatures AS r ON r.run_signature_id = a.run_signature_id AND r.run = a.run
JOIN dumps AS d ON d.dump_id = r.dump_id
JOIN models AS m
    ON m.model_id = d.model_id AND m.name = a.model AND m.backend IS NOT DISTINCT FROM a.backend
JOIN builds AS b ON b.build_id = d.build_id
WHERE s.op_type IS NOT NULL AND a.op_type <> s.op_type
