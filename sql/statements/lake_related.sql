-- Dumps of the same models and devices as the `chosen` dumps: these number the runs.
SELECT d.dump_id
FROM dumps AS d
JOIN devices AS v ON v.device_id = d.device_id
JOIN models AS m ON m.model_id = d.model_id
WHERE (v.name, m.name) IN (
    SELECT (v.name, m.name)
    FROM dumps AS d
    JOIN devices AS v ON v.device_id = d.device_id
    JOIN models AS m ON m.model_id = d.model_id
    WHERE d.dump_id IN (SELECT dump_id FROM chosen)
)
