-- device_days: Dumps, refusals and temperatures of devices, day by day.
--
-- Days are those in UTC on which dumps came into the store or were refused. A refusal
-- counts if the manifest that came with the dump names the device and its pool; of the
-- filters, device, pool, since and until apply to it.
--
-- filters: chosen_dumps
--
-- columns:
--   device, pool
--   day                TIMESTAMP  Begin of the day.
--   dump_count         BIGINT     Dumps that came into the store.
--   refused_count      BIGINT     Dumps that were refused.
--   temperature_c      DOUBLE     Median temperature in the manifests of these dumps,
--                                 degrees Celsius; null if none states it.
--   max_temperature_c  DOUBLE     The highest.
SELECT
    device, pool, day,
    count(dump_id) AS dump_count, count(*) - count(dump_id) AS refused_count,
    median(temperature_c) AS temperature_c, max(temperature_c) AS max_temperature_c
FROM (
    SELECT
        device, pool, date_trunc('DAY', ingested_at) AS day, dump_id, temperature_c
    FROM named_dumps
    WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
    UNION ALL
    SELECT r.device, r.pool, date_trunc('DAY', r.refused_at), NULL, NULL
    FROM (
        SELECT
            get_json_object(manifest, '$.device.name') AS device,
            get_json_object(manifest, '$.device.pool') AS pool, refused_at
        FROM ingest_errors
        WHERE manifest IS NOT NULL
            AND (CAST(:since AS TIMESTAMP) IS NULL
                OR refused_at >= CAST(:since AS TIMESTAMP))
            AND (CAST(:until AS TIMESTAMP) IS NULL
                OR refused_at < CAST(:until AS TIMESTAMP))
    ) AS r
    WHERE is_chosen(:device, r.device) AND is_chosen(:pool, r.pool)
) AS d
GROUP BY device, pool, day
ORDER BY device, pool NULLS LAST, day
