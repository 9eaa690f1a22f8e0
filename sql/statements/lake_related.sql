-- Dumps of the builds and models that some (`chosen`) are of: by these operators are numbered. The
-- same of the reference builds that were recorded in the sessions of those.
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
JOIN models AS m ON m.model_id = d.model_id
WHERE (d.build_id, m.name) IN (
    SELECT (d.build_id, m.name)
    FROM dumps AS d
    JOIN models AS m ON m.model_id = d.model_id
    WHERE d.dump_id IN (SELECT dump_id FROM asked)
)
