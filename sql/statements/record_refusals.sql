-- Record the refusals in `refused` that are not on record yet; the new ones come back.
INSERT INTO ingest_errors BY NAME
SELECT * FROM refused
WHERE (source, coalesce(sha256, ''), reason, detail) NOT IN (
    SELECT (source, coalesce(sha256, ''), reason, detail) FROM ingest_errors
)
RETURNING source, sha256, reason, byte_offset, detail
