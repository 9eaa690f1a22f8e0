-- Number of events of each signature of a dump, with its kind and unit.
SELECT e.event_signature_id, s.kind, s.unit, count(*) AS event_count
FROM events AS e
JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
WHERE e.dump_id = $dump
GROUP BY ALL
ORDER BY ALL
