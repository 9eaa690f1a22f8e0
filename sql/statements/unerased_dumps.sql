-- Forgotten dumps whose bytes are still in the archive.
SELECT DISTINCT sha256
FROM forgotten_dumps
WHERE sha256 IN (SELECT sha256 FROM archived_files WHERE kind = 'dump')
    AND sha256 NOT IN (SELECT sha256 FROM dumps)
