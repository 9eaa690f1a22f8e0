-- device_days: Dumps, refusals and temperatures of devices, day by day.
--
-- Days are those in UTC on which dumps came into the store or were refused. A refusal
-- counts if the manifest that came with the dump names the device and its pool; of the
-- filters, device, pool, since and until apply to it.
--
-- filters: chosen_dumps
--
-- parts: refused_dumps
--
-- next: environment_changes, outlier_runs
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
    SELECT device, pool, date_trunc('DAY', refused_at), NULL, NULL
    FROM refused_dumps
) AS d
GROUP BY device, pool, day
ORDER BY device, pool NULLS LAST, day
