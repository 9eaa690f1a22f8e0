-- Set the ETRecords and debug buffers of the dumps in `changes`.
UPDATE dumps
SET etrecord_id = c.etrecord_id, debug_buffer_sha256 = c.debug_buffer_sha256
FROM changes AS c
WHERE c.dump_id = dumps.dump_id
