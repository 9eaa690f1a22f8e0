-- page_coverage: What was recorded of each build, by some devices.
--
-- params:
--   shown  STRING[] = NULL  Only these devices; by default all.
--
-- filters: chosen_dumps
--
-- columns:
--   device       STRING  Name of the device.
--   build
--   model_count  BIGINT  Models on a backend that were recorded, at least 1.
SELECT
    device, build, count(DISTINCT model || ' / ' || coalesce(backend, '')) AS model_count
FROM chosen_dumps
WHERE is_chosen(:shown, device)
GROUP BY device, build
ORDER BY device, build
