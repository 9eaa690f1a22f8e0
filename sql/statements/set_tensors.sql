-- Set the hashes of the tensors of the values in `hashed`.
UPDATE debug_values
SET sha256 = h.sha256
FROM hashed AS h
WHERE debug_values.rowid = h.row_number
