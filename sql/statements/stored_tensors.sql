-- Values of dumps whose tensors may be in a debug buffer.
SELECT dump_id, rowid AS row_number, dtype, sizes, strides, tensor_offset
FROM debug_values
WHERE dump_id IN (SELECT unnest($dumps)) AND dtype IS NOT NULL
ORDER BY dump_id, row_number
