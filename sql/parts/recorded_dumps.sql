-- recorded_dumps: The dumps of two builds, and of reference builds recorded with them.
--
-- Reads compared_dumps. A reference build counts if it was recorded in the same session
-- of the same device, model and backend, unless it is compared itself.
--
-- columns:
--   dump_id
--   is_head    INT     1 in the head, 0 in the base; null for a reference build's.
--   session    STRING  Session it was recorded in; null if unknown.
--   reference  STRING  Name of the reference build; null in base and head.
WITH own AS (
    SELECT
        c.dump_id, c.is_head, c.device, c.model, c.backend, d.build, d.session
    FROM compared_dumps AS c
    JOIN named_dumps AS d ON d.dump_id = c.dump_id
)
SELECT dump_id, is_head, session, CAST(NULL AS STRING) AS reference
FROM own
UNION ALL
SELECT r.dump_id, CAST(NULL AS INT) AS is_head, r.session, r.build AS reference
FROM named_dumps AS r
JOIN (SELECT DISTINCT device, model, backend, session FROM own) AS s
    ON same_family(s, r) AND s.session = r.session
WHERE r.build_role = 'reference' AND r.build NOT IN (SELECT build FROM own)
