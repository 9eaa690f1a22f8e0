-- Give the values in `hashed` the hashes of their tensors.
UPDATE debug_values
SET sha256 = h.sha256
FROM hashed AS h
WHERE debug_values.rowid = h.row_number
