-- Dumps of the models and devices that some (`chosen`) are of: by these runs are numbered. The same
-- of the reference builds that were recorded in the sessions of those.
WITH asked AS (
    SELECT dump_id FROM chosen
    UNION
    SELECT r.dump_id
    FROM named_dumps AS r
    JOIN named_dumps AS d ON d.device = r.device AND d.session = r.session
    WHERE r.build_role = 'reference' AND d.dump_id IN (SELECT dump_id FROM chosen)
)
SELECT d.dump_id
FROM dumps AS d
JOIN devices AS v ON v.device_id = d.device_id
JOIN models AS m ON m.model_id = d.model_id
WHERE (v.name, m.name) IN (
    SELECT (v.name, m.name)
    FROM dumps AS d
    JOIN devices AS v ON v.device_id = d.device_id
    JOIN models AS m ON m.model_id = d.model_id
    WHERE d.dump_id IN (SELECT dump_id FROM asked)
)
