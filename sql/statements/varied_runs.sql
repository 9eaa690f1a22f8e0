-- A row if any run of a model has had several run signatures.
SELECT 1 AS is_varied
FROM named_run_signatures AS r
JOIN dumps AS d ON d.dump_id = r.dump_id
JOIN models AS m ON m.model_id = d.model_id
WHERE r.is_execution
GROUP BY m.name, m.backend, r.run
HAVING min(r.run_signature_id) < max(r.run_signature_id)
LIMIT 1
