-- The shortest and the longest duration of each operator of a dump, and whether they differ: by kind
-- and unit of the events the $most least different ones.
SELECT kind, unit, ticks, bool_or(varies) AS varies
FROM (
    SELECT kind, unit, varies, unnest([shortest, longest]) AS ticks
    FROM (
        SELECT
            s.kind, s.unit, min(e.duration_ticks) AS shortest, max(e.duration_ticks) AS longest,
            min(e.duration_ticks) < max(e.duration_ticks) AS varies
        FROM events AS e
        JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
        WHERE e.dump_id = $dump AND e.flags <= 1
        GROUP BY e.run_signature_id, e.event_signature_id, s.kind, s.unit
    )
)
GROUP BY kind, unit, ticks
QUALIFY row_number() OVER (PARTITION BY kind, unit ORDER BY ticks) <= $most
