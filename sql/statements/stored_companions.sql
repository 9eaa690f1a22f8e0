-- ETRecords and debug buffers of the dumps with these hashes.
SELECT sha256, dump_id, etrecord_id, debug_buffer_sha256
FROM dumps
WHERE sha256 IN (SELECT unnest($hashes))
ORDER BY dump_id
