-- Delegate metadata of the dumps with these hashes; a dump is named by its position in the list.
SELECT CAST(list_position($hashes, d.sha256) - 1 AS INTEGER) AS dump_index,
    m.rowid AS row_number, m.metadata
FROM delegate_metadata AS m JOIN dumps AS d ON d.dump_id = m.dump_id
WHERE list_contains($hashes, d.sha256)
ORDER BY row_number
