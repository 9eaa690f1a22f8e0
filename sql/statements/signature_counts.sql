-- How many events a dump has of each signature.
SELECT event_signature_id, count(*) AS event_count
FROM events
WHERE dump_id = $dump
GROUP BY ALL
ORDER BY ALL
