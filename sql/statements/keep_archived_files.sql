-- Delete records of archived files except those in `kept_files`.
DELETE FROM archived_files
WHERE (sha256, segment) NOT IN (SELECT (sha256, segment) FROM kept_files)
