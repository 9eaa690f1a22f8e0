-- etrecords: ETRecords of a lake, once each, under one of their names.
--
-- columns:
--   etrecord_id  BIGINT  Number of the ETRecord.
--   sha256       STRING  SHA-256 of its bytes, hex.
--   source       STRING  Path or archive member it was read from.
--   byte_count   BIGINT  Size in bytes.
SELECT
    etrecord_id, max(sha256) AS sha256, min(source) AS source,
    max(byte_count) AS byte_count
FROM lake_etrecords
GROUP BY etrecord_id
