-- Environments of recordings: a row per device, model, backend, build, session and combination of
-- the environment's attributes in the manifests.
SELECT
    device, model, backend, build, coalesce(session, '') AS session, build_role, os, os_version,
    firmware, governor, CAST(threads AS STRING) AS threads, median(temperature_c) AS celsius,
    count(temperature_c) AS celsius_count
FROM named_dumps
GROUP BY ALL
