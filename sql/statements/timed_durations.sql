-- The different durations of events of a dump that are of some kinds ($kinds) and without a unit.
SELECT DISTINCT e.duration_ticks
FROM events AS e
JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
WHERE e.dump_id = $dump AND e.flags <= 1 AND s.unit IS NULL
    AND s.kind IN (SELECT unnest($kinds))
