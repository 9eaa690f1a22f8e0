-- Values of operators in the dumps of a build ($head), of builds before it, and of reference
-- builds: a row per operator and dump, with the logarithm of the value and the pair of the dump
-- ('' for none). The type of what is no operator is its name. Measures of whole dumps are included,
-- without a run, and with a counter's unit as delegate id; rates are inverted, so that more is worse.
WITH lineage AS (
    SELECT CAST($head AS STRING) AS build, 0 AS distance
    UNION ALL
    SELECT ancestor, distance FROM build_lineage WHERE build = $head
),
chosen AS (
    SELECT
        d.dump_id, d.device, d.pool, d.model, d.backend, d.ns_per_tick, l.distance, d.build,
        coalesce(d.session, '') AS session, coalesce(d.pair, '') AS pair,
        min(d.captured_at) OVER (
            PARTITION BY d.device, d.pool, d.model, d.backend, d.build, coalesce(d.session, '')
        ) AS recorded_at
    FROM named_dumps AS d
    LEFT JOIN lineage AS l ON l.build = d.build
    WHERE l.build IS NOT NULL OR (d.build_role = 'reference' AND d.session IS NOT NULL)
),
series AS (
    SELECT
        dump_id, device, pool, model, backend, run, event_name, delegate_id, ordinal, kind,
        coalesce(op_type, event_name) AS op_type, unit, floor, half_tick, ln(greatest(value, half_tick)) AS log_value
    FROM operator_stats
    WHERE value IS NOT NULL AND kind NOT IN ('operator_call', 'load', 'delegate_phase')
    UNION ALL
    SELECT
        m.dump_id, r.device, r.pool, r.model, r.backend, '' AS run, m.name AS event_name,
        CASE WHEN m.unit <> 'ns' THEN m.unit END AS delegate_id, 0 AS ordinal, m.kind,
        m.name AS op_type,
        CASE WHEN r.ns_per_tick IS NULL THEN 'ticks' ELSE 'ns' END AS unit,
        CASE WHEN m.unit = 'ns' THEN 1e3 ELSE 1e-300 END AS floor,
        CASE WHEN m.unit = 'ns' THEN r.ns_per_tick / 2 ELSE 0e0 END AS half_tick,
        CASE WHEN m.kind IN ('rate', 'token_rate') THEN -ln(m.value) ELSE ln(m.value) END
            AS log_value
    FROM dump_measures AS m
    JOIN chosen AS r ON r.dump_id = m.dump_id
)
SELECT
    o.device, o.pool, o.model, o.backend, o.run, o.event_name, o.delegate_id, o.ordinal, o.kind,
    o.op_type, o.unit, r.distance, r.build, r.session, r.recorded_at, o.floor, o.half_tick,
    o.dump_id AS dump, r.pair, o.log_value AS log
FROM series AS o
JOIN chosen AS r ON r.dump_id = o.dump_id
