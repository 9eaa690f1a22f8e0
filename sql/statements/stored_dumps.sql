-- Archived facts of the dumps with these hashes.
SELECT sha256, d.dump_id, device_id, build_id, model_id, source, manifest, ingested_at, dropped_at
FROM dumps AS d LEFT JOIN dropped_events AS e ON e.dump_id = d.dump_id
WHERE sha256 IN (SELECT unnest($hashes))
ORDER BY d.dump_id
