-- What the archive keeps of the dumps of these bytes.
SELECT sha256, dump_id, device_id, build_id, model_id, source, manifest, ingested_at
FROM dumps
WHERE sha256 IN (SELECT unnest($hashes))
ORDER BY dump_id
