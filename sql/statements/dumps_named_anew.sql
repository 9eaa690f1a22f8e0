-- The dumps of all devices and models, by their names, with a dump after the $last one.
SELECT d.*
FROM main.dumps AS d
JOIN devices AS v ON v.device_id = d.device_id
JOIN models AS m ON m.model_id = d.model_id
WHERE EXISTS (
    SELECT 1
    FROM main.dumps AS n
    JOIN devices AS w ON w.device_id = n.device_id
    JOIN models AS o ON o.model_id = n.model_id
    WHERE n.dump_id > $last
        AND w.name = v.name AND o.name = m.name
        AND o.backend IS NOT DISTINCT FROM m.backend
)
