-- tensors: Contents of logged tensors of a lake, once each.
--
-- columns:
--   sha256      STRING  SHA-256 of a tensor's bytes in logical C order, hex; unique.
--   byte_count  BIGINT  Size in bytes.
--   data        BINARY  The bytes, little-endian.
SELECT sha256, max(byte_count) AS byte_count, min_by(data, byte_count) AS data
FROM lake_tensors
GROUP BY sha256
