-- How many events a dump has of each signature, of which kind and unit they are.
SELECT e.event_signature_id, s.kind, s.unit, count(*) AS event_count
FROM events AS e
JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
WHERE e.dump_id = $dump
GROUP BY ALL
ORDER BY ALL
