-- Record the new refusals among `refused`, and return them.
INSERT INTO ingest_errors BY NAME
SELECT * FROM refused
WHERE (source, coalesce(sha256, ''), reason, detail) NOT IN (
    SELECT (source, coalesce(sha256, ''), reason, detail) FROM ingest_errors
)
RETURNING source, sha256, reason, byte_offset, detail
