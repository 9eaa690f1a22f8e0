-- Give delegate metadata what its bytes say by the amended manifests.
UPDATE delegate_metadata
SET parsed = p.parsed
FROM parsed_metadata AS p
WHERE p.row_number = delegate_metadata.rowid
