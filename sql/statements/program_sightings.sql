-- Where the programs of `varied` runs ran: a row per device, build and run signature.
SELECT
    m.name AS model, m.backend, r.run, v.name AS device, b.name AS build, o.position,
    r.run_signature_id AS program, count(*) AS dump_count
FROM named_run_signatures AS r
JOIN dumps AS d ON d.dump_id = r.dump_id
JOIN models AS m ON m.model_id = d.model_id
JOIN varied AS x ON x.model = m.name AND x.backend IS NOT DISTINCT FROM m.backend AND x.run = r.run
JOIN devices AS v ON v.device_id = d.device_id
JOIN builds AS b ON b.build_id = d.build_id
JOIN builds_in_order AS o ON o.build = b.name
WHERE r.is_execution
GROUP BY m.name, m.backend, r.run, v.name, b.name, o.position, r.run_signature_id
