-- Deviation of each device's reference builds from their usual time, in each session that began
-- before $until: the median over their methods, each against its median over sessions.
WITH levels AS (
    SELECT
        d.device, d.session, d.build, o.model, o.backend, o.run,
        min(d.captured_at) AS recorded_at, median(ln(o.value)) AS level
    FROM operator_stats AS o
    JOIN named_dumps AS d ON d.dump_id = o.dump_id
    WHERE d.build_role = 'reference' AND d.session IS NOT NULL AND o.kind = 'method'
        AND o.value > 0
    GROUP BY d.device, d.session, d.build, o.model, o.backend, o.run
),
known AS (
    SELECT *
    FROM levels
    WHERE $until IS NULL OR recorded_at IS NULL OR recorded_at < $until
),
usual AS (
    SELECT device, build, model, backend, run, median(level) AS level
    FROM known
    GROUP BY device, build, model, backend, run
)
SELECT
    k.device, k.session, CAST(min(k.recorded_at) AS DATE) AS recorded_on,
    array_sort(array_agg(k.build)) AS builds, exp(median(k.level - u.level)) - 1 AS drift
FROM known AS k
JOIN usual AS u ON same_family(u, k) AND u.build = k.build AND u.run = k.run
GROUP BY k.device, k.session
ORDER BY k.device, min(k.recorded_at) NULLS LAST, k.session
