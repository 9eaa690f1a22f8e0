-- Dumps after a number ($after) whose duration by the stated clock is impossible (over $most_ns),
-- by the clock's unit: their count, the name of the first, and the longest duration.
SELECT t.tick_unit, count(*) AS n, min_by(t.source, t.dump_id) AS source, max(t.ran_ns) AS ran_ns
FROM (
    SELECT d.dump_id, d.source, d.tick_unit, sum(e.sum_ticks) * d.ns_per_tick AS ran_ns
    FROM dumps AS d
    JOIN event_stats AS e ON e.dump_id = d.dump_id
    JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
    WHERE d.dump_id > $after AND s.kind = 'method'
    GROUP BY d.dump_id, d.source, d.tick_unit, d.ns_per_tick
) AS t
WHERE t.ran_ns > $most_ns
GROUP BY t.tick_unit
ORDER BY t.tick_unit
