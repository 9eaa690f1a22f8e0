-- page_history: One event over builds: of each device, of each pool, and of all.
--
-- Every series is one row, with its builds in a list. The value of a device in a build
-- is that of build_history. That of a pool, or of all, is the median of its devices,
-- each relative to its own median over the builds, times the median of these medians:
-- so it does not move when other devices record a build.
--
-- params:
--   event        STRING[] OF named_event_signatures.event_name  Name or names of the
--                               event.
--   delegate_id  STRING[] OF named_event_signatures.delegate_id = NULL  Only this
--                               delegate debug id.
--   ordinal      INT(1..) = NULL  Only the n-th instruction of that name and delegate
--                               id in its run, from 1.
--
-- filters: chosen_operators
--
-- columns:
--   level   STRING  device, pool or all.
--   device  STRING  Name of the device; null in rows of pools and of all.
--   pool    STRING  Pool of the device; null in rows of all, too.
--   model, backend, run, event_name, delegate_id, ordinal
--   p50_ns  DOUBLE  Value in the last build of the row, nanoseconds.
--   change  DOUBLE  That against the build before, as a share; null with one build.
--   points  STRUCT  The builds in their order: build, p50_ns, dump_count, sample_count,
--                   and of the values of its dumps or devices the extremes (min_ns,
--                   max_ns) and the 10th and 90th percentiles (p10_ns, p90_ns).
WITH device_points AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, build,
        median(known_ns) AS p50_ns, min(known_ns) AS min_ns, max(known_ns) AS max_ns,
        percentile(known_ns, 0.1) AS p10_ns, percentile(known_ns, 0.9) AS p90_ns,
        count(*) AS dump_count,
        CAST(sum(sample_count) AS BIGINT) AS sample_count
    FROM (
        SELECT *, coalesce(value_ns, p50_ns) AS known_ns
        FROM chosen_operators
    ) AS o
    WHERE array_contains(CAST(:event AS ARRAY<STRING>), event_name)
        AND is_chosen(:delegate_id, delegate_id)
        AND ordinal = coalesce(CAST(:ordinal AS INT), ordinal)
        AND known_ns IS NOT NULL
    GROUP BY device, model, backend, run, event_name, delegate_id, ordinal, build
),
own_medians AS (
    SELECT
        p.*, v.pool, b.position,
        median(p.p50_ns) OVER (
            PARTITION BY
                p.device, p.model, p.backend, p.run, p.event_name, p.delegate_id,
                p.ordinal
        ) AS own_ns,
        row_number() OVER (
            PARTITION BY
                p.device, p.model, p.backend, p.run, p.event_name, p.delegate_id,
                p.ordinal
            ORDER BY b.position
        ) AS number
    FROM device_points AS p
    JOIN devices AS v ON v.name = p.device
    JOIN builds_in_order AS b ON b.build = p.build
),
relative_points AS (
    SELECT
        *, p50_ns / nullif(own_ns, 0e0) AS share,
        median(CASE WHEN number = 1 THEN own_ns END) OVER (
            PARTITION BY pool, model, backend, run, event_name, delegate_id, ordinal
        ) AS pool_ns,
        median(CASE WHEN number = 1 THEN own_ns END) OVER (
            PARTITION BY model, backend, run, event_name, delegate_id, ordinal
        ) AS all_ns
    FROM own_medians
),
all_points AS (
    SELECT
        'device' AS level, device, pool, model, backend, run, event_name, delegate_id,
        ordinal, build, position, p50_ns, min_ns, max_ns, p10_ns, p90_ns, dump_count,
        sample_count
    FROM own_medians
    UNION ALL
    SELECT
        'pool', CAST(NULL AS STRING), pool, model, backend, run, event_name,
        delegate_id, ordinal, build, position,
        median(share) * max(pool_ns), min(share) * max(pool_ns),
        max(share) * max(pool_ns), percentile(share, 0.1) * max(pool_ns),
        percentile(share, 0.9) * max(pool_ns), CAST(sum(dump_count) AS BIGINT),
        CAST(sum(sample_count) AS BIGINT)
    FROM relative_points
    GROUP BY
        pool, model, backend, run, event_name, delegate_id, ordinal, build, position
    UNION ALL
    SELECT
        'all', CAST(NULL AS STRING), CAST(NULL AS STRING), model, backend, run,
        event_name, delegate_id, ordinal, build, position,
        median(share) * max(all_ns), min(share) * max(all_ns),
        max(share) * max(all_ns), percentile(share, 0.1) * max(all_ns),
        percentile(share, 0.9) * max(all_ns), CAST(sum(dump_count) AS BIGINT),
        CAST(sum(sample_count) AS BIGINT)
    FROM relative_points
    GROUP BY model, backend, run, event_name, delegate_id, ordinal, build, position
),
series AS (
    SELECT
        level, device, pool, model, backend, run, event_name, delegate_id, ordinal,
        list(
            {
                'build': build, 'p50_ns': p50_ns, 'min_ns': min_ns, 'max_ns': max_ns,
                'p10_ns': p10_ns, 'p90_ns': p90_ns,
                'dump_count': dump_count, 'sample_count': sample_count
            }
            ORDER BY position
        ) AS points
    FROM all_points
    GROUP BY
        level, device, pool, model, backend, run, event_name, delegate_id, ordinal
)
SELECT
    level, device, pool, model, backend, run, event_name, delegate_id, ordinal,
    points[-1].p50_ns AS p50_ns,
    points[-1].p50_ns / nullif(points[-2].p50_ns, 0e0) - 1 AS change,
    points
FROM series
ORDER BY
    level, device NULLS LAST, pool NULLS LAST, model, backend NULLS LAST, run,
    event_name, delegate_id NULLS LAST, ordinal
