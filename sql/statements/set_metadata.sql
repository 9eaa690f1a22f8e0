-- Set the parsed delegate metadata that follows from amended manifests.
UPDATE delegate_metadata
SET parsed = p.parsed
FROM parsed_metadata AS p
WHERE p.row_number = delegate_metadata.rowid
