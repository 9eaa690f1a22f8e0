-- Leave on record as archived only the files in `kept_files`.
DELETE FROM archived_files
WHERE (sha256, segment) NOT IN (SELECT (sha256, segment) FROM kept_files)
