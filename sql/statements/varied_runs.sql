-- Runs of models that have had several run signatures.
SELECT m.name AS model, m.backend, r.run
FROM named_run_signatures AS r
JOIN dumps AS d ON d.dump_id = r.dump_id
JOIN models AS m ON m.model_id = d.model_id
WHERE r.is_execution
GROUP BY m.name, m.backend, r.run
HAVING min(r.run_signature_id) < max(r.run_signature_id)
