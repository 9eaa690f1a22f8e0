-- Delegate metadata of the dumps of these bytes, whose position in the list stands for the dump.
SELECT CAST(list_position($hashes, d.sha256) - 1 AS INTEGER) AS dump_index,
    m.rowid AS row_number, m.metadata
FROM delegate_metadata AS m JOIN dumps AS d ON d.dump_id = m.dump_id
WHERE list_contains($hashes, d.sha256)
ORDER BY row_number
