-- ingest_errors: Refused files, as the writers of a lake recorded them.
--
-- A conflict that was settled later counts as settled.
SELECT
    source, sha256, max(reason) AS reason, byte_offset, detail, refused_at,
    max(manifest) AS manifest
FROM lake_ingest_errors
GROUP BY
    source, sha256, byte_offset, detail, refused_at,
    CASE WHEN reason = 'settled_conflict' THEN 'conflict' ELSE reason END
