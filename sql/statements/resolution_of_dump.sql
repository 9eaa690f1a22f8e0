-- The largest of 1, 1,000 and 1,000,000 ticks that divides the durations of all delegate events of a
-- dump.
SELECT
    CASE
        WHEN count(*) = 0 OR count(*) FILTER (e.duration_ticks % 1000 <> 0) > 0 THEN 1
        WHEN count(*) FILTER (e.duration_ticks % 1000000 <> 0) > 0 THEN 1000
        ELSE 1000000
    END
FROM events AS e
JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
WHERE e.dump_id = $dump AND e.flags <= 1 AND s.kind = 'delegate_op' AND s.unit IS NULL
