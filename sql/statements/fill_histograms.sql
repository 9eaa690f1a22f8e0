-- Give histograms of their events to dumps without any.
INSERT INTO event_histograms BY NAME
SELECT dump_id, run_signature_id, event_signature_id, bucket,
    sum(event_count)::BIGINT AS event_count
FROM event_buckets
WHERE dump_id IN (SELECT unnest($dumps))
    AND dump_id NOT IN (SELECT dump_id FROM event_histograms)
GROUP BY ALL
ORDER BY ALL
