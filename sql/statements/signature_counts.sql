-- How many events a dump has of each signature, and of which kind they are.
SELECT e.event_signature_id, s.kind, count(*) AS event_count
FROM events AS e
JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
WHERE e.dump_id = $dump
GROUP BY ALL
ORDER BY ALL
