-- refused_dumps: Refused dumps whose manifest names their device.
--
-- Of the filters of dumps, device, pool, since and until apply to them.
--
-- columns:
--   device, pool
--   refused_at  TIMESTAMP  Time of the refusal.
SELECT device, pool, refused_at
FROM (
    SELECT
        get_json_object(manifest, '$.device.name') AS device,
        get_json_object(manifest, '$.device.pool') AS pool, refused_at
    FROM ingest_errors
    WHERE manifest IS NOT NULL
) AS r
WHERE is_chosen(:device, device) AND is_chosen(:pool, pool)
    AND (CAST(:since AS TIMESTAMP) IS NULL OR refused_at >= CAST(:since AS TIMESTAMP))
    AND (CAST(:until AS TIMESTAMP) IS NULL OR refused_at < CAST(:until AS TIMESTAMP))
