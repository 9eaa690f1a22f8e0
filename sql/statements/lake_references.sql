-- Dumps of reference builds that were recorded in the sessions of the `chosen` dumps.
SELECT DISTINCT r.dump_id
FROM named_dumps AS r
JOIN named_dumps AS d ON d.device = r.device AND d.session = r.session
WHERE r.build_role = 'reference' AND d.dump_id IN (SELECT dump_id FROM chosen)
