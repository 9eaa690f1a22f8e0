-- What the dumps of each recording were made in: a row per device, model, backend, build, session
-- and combination of what their manifests state.
SELECT
    device, model, backend, build, coalesce(session, '') AS session, build_role, os, os_version,
    firmware, governor, CAST(threads AS STRING) AS threads, median(temperature_c) AS celsius,
    count(temperature_c) AS celsius_count
FROM named_dumps
GROUP BY ALL
