-- When builds were recorded: the median over devices of the median time of each device's dumps, the
-- number of these devices, and the first and last time; of all builds, or of those in a list
-- ($builds). Implausible times are left out. Of two times in the middle, the later one counts, for a
-- clock that was reset is behind.
SELECT
    build_id, percentile_disc(0.5) WITHIN GROUP (ORDER BY captured_at DESC) AS captured_at,
    count(*)::INT AS device_count, min(first_captured_at) AS first_captured_at,
    max(last_captured_at) AS last_captured_at
FROM (
    SELECT
        d.build_id, percentile_disc(0.5) WITHIN GROUP (ORDER BY d.captured_at DESC) AS captured_at,
        min(d.captured_at) AS first_captured_at, max(d.captured_at) AS last_captured_at
    FROM dumps AS d
    JOIN devices AS v ON v.device_id = d.device_id
    WHERE is_plausible(d.captured_at, d.ingested_at)
        AND ($builds IS NULL OR d.build_id IN (SELECT unnest($builds::INT[])))
    GROUP BY d.build_id, v.name
) AS t
GROUP BY build_id
