-- Delete rows that no dump refers to, and notes on points that no dump has.
DELETE FROM group_decisions AS n
WHERE build IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM named_dumps AS d WHERE is_noted(n, d)
);
DELETE FROM run_signatures
WHERE run_signature_id NOT IN (
    SELECT run_signature_id FROM runs WHERE run_signature_id IS NOT NULL
);
DELETE FROM event_signatures
WHERE event_signature_id NOT IN (
    SELECT unnest(events) FROM run_signatures
    UNION ALL SELECT event_signature_id FROM event_stats
    UNION ALL SELECT event_signature_id FROM delegate_metadata
);
DELETE FROM tensors
WHERE sha256 NOT IN (SELECT sha256 FROM debug_values WHERE sha256 IS NOT NULL);

CREATE TEMP TABLE used_programs AS
SELECT DISTINCT d.etrecord_id, r.run_signature_id
FROM dumps AS d LEFT JOIN runs AS r ON r.dump_id = d.dump_id
WHERE d.etrecord_id IS NOT NULL;

DELETE FROM etrecords WHERE etrecord_id NOT IN (SELECT etrecord_id FROM used_programs);
DELETE FROM graph_nodes WHERE etrecord_id NOT IN (SELECT etrecord_id FROM used_programs);
DELETE FROM debug_handles WHERE etrecord_id NOT IN (SELECT etrecord_id FROM used_programs);
DELETE FROM delegates WHERE etrecord_id NOT IN (SELECT etrecord_id FROM used_programs);
DELETE FROM event_origins AS o
WHERE NOT EXISTS (
    SELECT 1 FROM used_programs AS u
    WHERE u.etrecord_id = o.etrecord_id AND u.run_signature_id = o.run_signature_id
);
DELETE FROM event_modules AS o
WHERE NOT EXISTS (
    SELECT 1 FROM used_programs AS u
    WHERE u.etrecord_id = o.etrecord_id AND u.run_signature_id = o.run_signature_id
);
DROP TABLE used_programs
