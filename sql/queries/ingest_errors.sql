-- ingest_errors: Refused files, and whether they have been accepted since.
--
-- Uploads that a service refused are among them. A conflict is a file that the store
-- has under another manifest. It stays unresolved until the same file comes again and
-- agrees with the store; then its reason becomes settled_conflict. Only the time of
-- refusal can be filtered: a file whose manifest is not known has no device.
--
-- params:
--   since  TIMESTAMP = NULL          Only files refused at or after this time.
--   until  TIMESTAMP(>since) = NULL  Only files refused before this time.
--
-- next: data_quality
--
-- columns:
--   refused_at   TIMESTAMP  Time of the refusal.
--   source       STRING     Path or archive member that was refused.
--   sha256       STRING     SHA-256 of its bytes; null if they were not read.
--   reason       STRING     Machine-readable reason, e.g. truncated, manifest,
--                           conflict, settled_conflict.
--   byte_offset  BIGINT     Offset of the first fault; null where none applies.
--   detail       STRING     The problem: what was found, and what was expected.
--   device       STRING     Device in the manifest that came with it; null if none did.
--   pool         STRING     Pool in that manifest; null if none.
--   is_resolved  BOOLEAN    Whether a dump with the same bytes, or a dump or ETRecord
--                           from the same source or zip, is in the store now; for a
--                           conflict, whether it is settled.
SELECT
    refused_at, source, sha256, reason, byte_offset, detail,
    get_json_object(manifest, '$.device.name') AS device,
    get_json_object(manifest, '$.device.pool') AS pool,
    reason <> 'conflict' AND (
        coalesce(sha256 IN (SELECT sha256 FROM dumps), FALSE)
        OR source IN (
            SELECT source FROM dumps
            UNION ALL
            SELECT split_part(source, '!', 1) FROM dumps
            UNION ALL
            SELECT source FROM etrecords
        )
    ) AS is_resolved
FROM ingest_errors
WHERE (CAST(:since AS TIMESTAMP) IS NULL
        OR refused_at >= CAST(:since AS TIMESTAMP))
    AND (CAST(:until AS TIMESTAMP) IS NULL
        OR refused_at < CAST(:until AS TIMESTAMP))
ORDER BY refused_at, source, reason, byte_offset NULLS LAST, detail, sha256 NULLS LAST
