-- Environments of a model's recordings: a row per device, backend, build, session and combination of
-- the environment's attributes in the manifests.
SELECT
    device, model, backend, build, coalesce(session, '') AS session, build_role, os, os_version,
    firmware, governor, CAST(threads AS STRING) AS threads, median(temperature_c) AS celsius,
    count(temperature_c) AS celsius_count
FROM named_dumps
WHERE model = $model
GROUP BY ALL
