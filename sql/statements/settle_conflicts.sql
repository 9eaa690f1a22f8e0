-- Mark conflicts as settled whose files came again and agreed with the store, and return them.
UPDATE ingest_errors
SET reason = 'settled_conflict'
WHERE reason = 'conflict' AND (source, sha256) IN (SELECT (source, sha256) FROM agreed)
RETURNING source, sha256
