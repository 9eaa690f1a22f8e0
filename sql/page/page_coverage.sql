-- page_coverage: What was recorded of each build, by each pool and by some devices.
--
-- params:
--   shown  STRING[] = NULL  Devices that have rows of their own; by default all.
--
-- filters: chosen_dumps
--
-- columns:
--   device        STRING  Name of the device; null in rows of pools.
--   pool, build
--   device_count  BIGINT  Devices that recorded the build, at least 1.
--   model_count   BIGINT  Models on a backend that were recorded, at least 1.
SELECT
    device, pool, build,
    count(DISTINCT owner) AS device_count,
    count(DISTINCT model || ' / ' || coalesce(backend, '')) AS model_count
FROM (
    SELECT device, device AS owner, pool, build, model, backend
    FROM chosen_dumps
    WHERE is_chosen(:shown, device)
    UNION ALL
    SELECT CAST(NULL AS STRING), device, pool, build, model, backend
    FROM chosen_dumps
) AS c
GROUP BY device, pool, build
ORDER BY device NULLS FIRST, pool NULLS LAST, build
