-- ingest_errors: Refused files, as the writers of a lake recorded them.
--
-- A conflict that was settled later counts as settled.
--
-- columns:
--   source       STRING     Path or archive member that was refused.
--   sha256       STRING     SHA-256 of its bytes; null if they were not read.
--   reason       STRING     Machine-readable reason, e.g. truncated.
--   byte_offset  BIGINT     Offset of the first fault; null where none applies.
--   detail       STRING     The problem: what was found, and what was expected.
--   refused_at   TIMESTAMP  Time of the refusal.
SELECT source, sha256, max(reason) AS reason, byte_offset, detail, refused_at
FROM lake_ingest_errors
GROUP BY
    source, sha256, byte_offset, detail, refused_at,
    CASE WHEN reason = 'settled_conflict' THEN 'conflict' ELSE reason END
