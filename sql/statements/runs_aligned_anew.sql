-- The kept names of runs of all models, by their names, with a dump after the $last one.
SELECT r.*
FROM rows_of_named_run_signatures AS r
JOIN dumps AS d ON d.dump_id = r.dump_id
JOIN models AS m ON m.model_id = d.model_id
WHERE EXISTS (
    SELECT 1
    FROM dumps AS n
    JOIN models AS o ON o.model_id = n.model_id
    WHERE n.dump_id > $last AND o.name = m.name AND o.backend IS NOT DISTINCT FROM m.backend
)
