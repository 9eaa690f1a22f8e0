-- tensors: Contents of logged tensors of a lake, once each.
SELECT sha256, max(byte_count) AS byte_count, min_by(data, byte_count) AS data
FROM lake_tensors
GROUP BY sha256
