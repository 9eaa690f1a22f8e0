-- Approximate size of an event in the store's file, in bytes.
SELECT
    (
        SELECT count(DISTINCT block_id) FROM pragma_storage_info('events') WHERE block_id >= 0
    ) * (SELECT block_size FROM pragma_database_size() WHERE database_name = current_database())
    / greatest((SELECT count(*) FROM events), 1) AS event_bytes
