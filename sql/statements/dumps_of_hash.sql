-- Dumps whose SHA-256 begins with a text, in order of arrival.
SELECT dump_id, sha256, source, byte_count, n_events, manifest
FROM dumps
WHERE starts_with(sha256, $prefix)
ORDER BY dump_id
