-- Record the dumps in `forgotten`, and delete their refusals.
DELETE FROM ingest_errors WHERE sha256 IN (SELECT sha256 FROM forgotten);

INSERT INTO forgotten_dumps BY NAME
SELECT * FROM forgotten
WHERE (sha256, forgotten_at) NOT IN (SELECT (sha256, forgotten_at) FROM forgotten_dumps)
