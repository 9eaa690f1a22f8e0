-- Archived facts of the dumps with these hashes.
SELECT
    d.sha256, d.dump_id, d.device_id, d.build_id, d.model_id, d.source, d.manifest, d.ingested_at,
    e.dropped_at, r.sha256 AS etrecord_sha256, d.debug_buffer_sha256
FROM dumps AS d
LEFT JOIN dropped_events AS e ON e.dump_id = d.dump_id
LEFT JOIN etrecords AS r ON r.etrecord_id = d.etrecord_id
WHERE d.sha256 IN (SELECT unnest($hashes))
ORDER BY d.dump_id
