-- event_buckets: Events per dump, signatures and logarithmic bucket of duration.
--
-- The rows are a dump's histogram if it has one, else one row per event. Buckets of
-- dumps with equally long ticks can be added. All durations in bucket b are within 1 %
-- of 0.99 * g^b ticks, where g is 1.01 / 0.99. Flagged events are left out.
--
-- columns:
--   dump_id, run_signature_id, event_signature_id
--   bucket       INT     b for more than g^(b-1) and up to g^b ticks; -1 for no ticks.
--   event_count  BIGINT  Events in the bucket, at least 1.
SELECT dump_id, run_signature_id, event_signature_id, bucket, event_count
FROM event_histograms
UNION ALL
SELECT
    dump_id, run_signature_id, event_signature_id,
    CASE
        WHEN duration_ticks = 0 THEN -1
        ELSE CAST(ceil(ln(greatest(duration_ticks, 1)) / ln(1.01e0 / 0.99e0)) AS INT)
    END AS bucket,
    CAST(1 AS BIGINT) AS event_count
FROM events
WHERE flags <= 1 AND dump_id IN (
    SELECT dump_id
    FROM dumps
    WHERE dump_id NOT IN (SELECT dump_id FROM event_histograms)
)
