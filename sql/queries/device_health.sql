-- device_health: Devices that are silent, refused or hot, before those that are well.
--
-- A device is compared with the other devices of its pool, or with all others if it is
-- alone in its pool. It is silent if half of them or more have the same newer build,
-- and one of its builds is of one of them, too: where each build is recorded on another
-- device, none is expected.
-- It is refused if at least three of its dumps were refused, and a share of them that
-- is 2 % or more, and more than twice as large as that of the others (of a device that
-- is alone in the store, more than half). It is hot if the temperature in the manifests
-- of its last build is at least 5 degrees above the median of the devices of its pool.
-- Refusals and missing builds are those of the last builds. A refusal counts if the
-- manifest that came with the dump names the device and its pool; of the filters,
-- device, pool, since and until apply to it. With a filter of devices, no others count
-- as their pool.
--
-- params:
--   last_n  INT(1..) = 20  Builds whose refusals and missing recordings count.
--
-- filters: chosen_dumps
--
-- parts: refused_dumps
--
-- next: device_days, environment_changes
--
-- columns:
--   device, pool
--   problems            STRING     'silent', 'refused', 'hot', joined by ', '; null if
--                                  the device is well.
--   problem_count       INT        Number of them.
--   last_build          STRING     Its newest build; null if all of its dumps were
--                                  refused.
--   builds_behind       BIGINT     Builds after that one.
--   missing_count       BIGINT     Builds between its first and the newest that its
--                                  pool has and the device lacks.
--   refused_count       BIGINT     Its dumps that were refused.
--   refused_share       DOUBLE     Refused dumps over refused and stored ones.
--   pool_refused_share  DOUBLE     The same share of the other devices of its pool;
--                                  null if there are none.
--   temperature_c       DOUBLE     Median of its last build, degrees Celsius; null if
--                                  no manifest states it.
--   pool_temperature_c  DOUBLE     Median of the devices of its pool.
--   model_count         BIGINT     Models on a backend.
--   dump_count          BIGINT     Dumps in the store.
--   event_count         BIGINT     Profile events in them.
--   last_captured_at    TIMESTAMP  Time of its last recording; null if unknown.
--   last_ingested_at    TIMESTAMP  Time of its last commit to the store.
WITH builds_of_devices AS (
    SELECT
        c.device, coalesce(c.pool, '') AS pool, c.build, count(*) AS dump_count,
        sum(d.n_events) AS event_count, max(d.captured_at) AS last_captured_at,
        min(d.ingested_at) AS first_ingested_at, max(d.ingested_at) AS last_ingested_at
    FROM chosen_dumps AS c
    JOIN dumps AS d ON d.dump_id = c.dump_id
    GROUP BY c.device, c.pool, c.build
),
ages AS (
    SELECT build, dense_rank() OVER (ORDER BY position DESC) AS age
    FROM builds_in_order
    WHERE build IN (SELECT build FROM builds_of_devices)
),
nights AS (
    SELECT b.*, a.age
    FROM builds_of_devices AS b
    JOIN ages AS a ON a.build = b.build
),
refusals AS (
    SELECT device, coalesce(pool, '') AS pool, count(*) AS refused_count
    FROM refused_dumps
    WHERE refused_at >= (
        SELECT min(first_ingested_at)
        FROM nights
        WHERE age <= CAST(:last_n AS INT)
    )
    GROUP BY device, pool
),
own AS (
    SELECT
        device, pool, min(age) AS newest, max(age) AS oldest,
        sum(dump_count) AS dump_count, sum(event_count) AS event_count,
        count(CASE WHEN age <= CAST(:last_n AS INT) THEN 1 END) AS night_count,
        sum(CASE WHEN age <= CAST(:last_n AS INT) THEN dump_count ELSE 0 END)
            AS recent_count,
        max(last_captured_at) AS last_captured_at,
        max(last_ingested_at) AS last_ingested_at
    FROM nights
    GROUP BY device, pool
),
models AS (
    SELECT device, pool, count(*) AS model_count
    FROM (
        SELECT DISTINCT device, coalesce(pool, '') AS pool, model, backend
        FROM chosen_dumps
    ) AS m
    GROUP BY device, pool
),
pool_nights AS (
    SELECT DISTINCT pool, age
    FROM nights
    WHERE age <= CAST(:last_n AS INT)
),
expected AS (
    SELECT o.device, o.pool, count(*) AS night_count
    FROM own AS o
    JOIN pool_nights AS p ON p.pool = o.pool AND p.age <= o.oldest
    GROUP BY o.device, o.pool
),
heats AS (
    SELECT
        r.device, r.pool,
        median(CAST(get_json_object(d.manifest, '$.run.temperature_c') AS DOUBLE))
            AS temperature_c
    FROM (
        SELECT c.dump_id, o.device, o.pool
        FROM chosen_dumps AS c
        JOIN ages AS a ON a.build = c.build
        JOIN own AS o
            ON o.device = c.device AND o.pool = coalesce(c.pool, '')
                AND o.newest = a.age
    ) AS r
    JOIN dumps AS d ON d.dump_id = r.dump_id
    GROUP BY r.device, r.pool
),
joined AS (
    SELECT
        coalesce(o.device, f.device) AS device, coalesce(o.pool, f.pool) AS pool,
        o.newest, coalesce(m.model_count, 0) AS model_count,
        CAST(coalesce(o.dump_count, 0) AS BIGINT) AS dump_count,
        CAST(coalesce(o.event_count, 0) AS BIGINT) AS event_count,
        o.last_captured_at, o.last_ingested_at,
        CAST(coalesce(o.recent_count, 0) AS BIGINT) AS recent_count,
        coalesce(f.refused_count, 0) AS refused_count,
        coalesce(e.night_count - o.night_count, 0) AS missing_count, h.temperature_c
    FROM own AS o
    FULL OUTER JOIN refusals AS f ON f.device = o.device AND f.pool = o.pool
    LEFT JOIN models AS m ON m.device = o.device AND m.pool = o.pool
    LEFT JOIN expected AS e ON e.device = o.device AND e.pool = o.pool
    LEFT JOIN heats AS h ON h.device = o.device AND h.pool = o.pool
),
pools AS (
    SELECT
        pool, count(newest) AS device_count,
        CAST(sum(refused_count) AS BIGINT) AS refused_count,
        CAST(sum(recent_count) AS BIGINT) AS recent_count,
        median(temperature_c) AS celsius
    FROM joined
    GROUP BY pool
),
whole AS (
    SELECT
        CAST(sum(refused_count) AS BIGINT) AS refused_count,
        CAST(sum(recent_count) AS BIGINT) AS recent_count
    FROM joined
),
others AS (
    SELECT j.device, j.pool, j.newest, o.device AS other, o.pool AS other_pool
    FROM own AS j
    JOIN pools AS p ON p.pool = j.pool
    JOIN own AS o ON (o.device <> j.device OR o.pool <> j.pool)
        AND (o.pool = j.pool OR p.device_count <= 1)
),
sharing AS (
    SELECT DISTINCT n.device, n.pool
    FROM nights AS n
    JOIN pools AS p ON p.pool = n.pool
    JOIN (SELECT age, count(*) AS device_count FROM nights GROUP BY age) AS w
        ON w.age = n.age
    JOIN (
        SELECT pool, age, count(*) AS device_count
        FROM nights
        GROUP BY pool, age
    ) AS i ON i.pool = n.pool AND i.age = n.age
    WHERE CASE WHEN p.device_count > 1 THEN i.device_count ELSE w.device_count END > 1
),
silent AS (
    SELECT DISTINCT b.device, b.pool
    FROM (
        SELECT o.device, o.pool, n.age, count(*) AS newer_count
        FROM others AS o
        JOIN nights AS n
            ON n.device = o.other AND n.pool = o.other_pool AND n.age < o.newest
        GROUP BY o.device, o.pool, n.age
    ) AS b
    JOIN (
        SELECT device, pool, count(*) AS other_count
        FROM others
        GROUP BY device, pool
    ) AS c ON c.device = b.device AND c.pool = b.pool
    JOIN sharing AS s ON s.device = b.device AND s.pool = b.pool
    WHERE 2 * b.newer_count >= c.other_count
),
compared AS (
    SELECT
        j.*, p.celsius AS pool_temperature_c,
        s.device AS silent_device,
        j.refused_count / nullif(0e0 + j.refused_count + j.recent_count, 0e0)
            AS refused_share,
        (p.refused_count - j.refused_count) / nullif(
            0e0 + p.refused_count - j.refused_count + p.recent_count - j.recent_count,
            0e0
        ) AS pool_refused_share,
        (w.refused_count - j.refused_count) / nullif(
            0e0 + w.refused_count - j.refused_count + w.recent_count - j.recent_count,
            0e0
        ) AS other_refused_share
    FROM joined AS j
    JOIN pools AS p ON p.pool = j.pool
    CROSS JOIN whole AS w
    LEFT JOIN silent AS s ON s.device = j.device AND s.pool = j.pool
),
judged AS (
    SELECT
        *,
        CASE WHEN silent_device IS NOT NULL THEN 'silent' END AS silence,
        CASE
            WHEN refused_count >= 3 AND reaches(refused_share, 2e-2)
                AND refused_share
                    > 2 * coalesce(pool_refused_share, other_refused_share, 25e-2)
                THEN 'refused'
        END AS refusal,
        CASE WHEN reaches(temperature_c, pool_temperature_c + 5) THEN 'hot' END AS heat
    FROM compared
)
SELECT
    j.device, nullif(j.pool, '') AS pool,
    nullif(concat_ws(', ', j.silence, j.refusal, j.heat), '') AS problems,
    CAST(
        CASE WHEN j.silence IS NULL THEN 0 ELSE 1 END
        + CASE WHEN j.refusal IS NULL THEN 0 ELSE 1 END
        + CASE WHEN j.heat IS NULL THEN 0 ELSE 1 END AS INT
    ) AS problem_count,
    a.build AS last_build, CAST(j.newest - 1 AS BIGINT) AS builds_behind,
    j.missing_count, j.refused_count, j.refused_share, j.pool_refused_share,
    j.temperature_c, j.pool_temperature_c,
    j.model_count, j.dump_count, j.event_count, j.last_captured_at, j.last_ingested_at
FROM judged AS j
LEFT JOIN ages AS a ON a.age = j.newest
ORDER BY
    problem_count DESC, builds_behind DESC NULLS FIRST, j.device, j.pool NULLS LAST
