-- Dumps of the builds and models that some (`chosen`) are of: by these operators are numbered.
SELECT d.dump_id
FROM dumps AS d
JOIN models AS m ON m.model_id = d.model_id
WHERE (d.build_id, m.name) IN (
    SELECT (d.build_id, m.name)
    FROM dumps AS d
    JOIN models AS m ON m.model_id = d.model_id
    WHERE d.dump_id IN (SELECT dump_id FROM chosen)
)
