-- Run signatures of dumps that are not yet traced to the dump's ETRecord, with their first run.
SELECT DISTINCT ON (d.etrecord_id, r.run_signature_id)
    d.etrecord_id, r.run_signature_id, r.dump_id, r.run_index
FROM dumps AS d
JOIN runs AS r ON r.dump_id = d.dump_id
WHERE d.dump_id IN (SELECT unnest($dumps))
    AND r.run_signature_id IS NOT NULL
    AND NOT EXISTS (
        SELECT 1 FROM event_origins AS o
        WHERE o.etrecord_id = d.etrecord_id AND o.run_signature_id = r.run_signature_id
    )
ORDER BY d.etrecord_id, r.run_signature_id, r.dump_id, r.run_index
