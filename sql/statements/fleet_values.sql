-- The values of operators in the dumps of a build ($head) and of those before it, and in the dumps
-- of reference builds: a row per operator and recording, with a list of logarithms, one of the
-- dumps that they are of, and one of the pairs that these are in, '' for none.
WITH lineage AS (
    SELECT CAST($head AS STRING) AS build, 0 AS distance
    UNION ALL
    SELECT ancestor, distance FROM build_lineage WHERE build = $head
),
recordings AS (
    SELECT
        d.dump_id, l.distance, d.build, coalesce(d.session, '') AS session,
        coalesce(d.pair, '') AS pair,
        min(d.captured_at) OVER (PARTITION BY d.build, d.session) AS recorded_at
    FROM named_dumps AS d
    LEFT JOIN lineage AS l ON l.build = d.build
    WHERE l.build IS NOT NULL OR (d.build_role = 'reference' AND d.session IS NOT NULL)
)
SELECT
    o.device, o.pool, o.model, o.backend, o.run, o.event_name, o.delegate_id, o.ordinal, o.kind,
    o.unit, r.distance, r.build, r.session, r.recorded_at, max(o.floor) AS floor,
    max(o.half_tick) AS half_tick, array_agg(o.dump_id) AS dumps, array_agg(r.pair) AS pairs,
    array_agg(ln(greatest(o.value, o.half_tick))) AS logs
FROM operator_stats AS o
JOIN recordings AS r ON r.dump_id = o.dump_id
WHERE o.value IS NOT NULL AND o.kind NOT IN ('operator_call', 'load', 'delegate_phase')
GROUP BY ALL
