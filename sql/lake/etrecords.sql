-- etrecords: ETRecords of a lake, once each, under one of their names.
SELECT
    etrecord_id, max(sha256) AS sha256, min(source) AS source,
    max(byte_count) AS byte_count
FROM lake_etrecords
GROUP BY etrecord_id
