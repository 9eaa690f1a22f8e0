-- variance_components: Why dumps differ, and how to find smaller changes.
--
-- The variance is that of the logarithms of the dumps' values, see dump_values; an
-- operator has a row if it has 8 dumps. The factors are nested: device, firmware,
-- governor, temperature (in steps of 5 degrees Celsius), session, build, and process,
-- for the difference of dumps that share all others. Each has the share of the variance
-- that it adds to the factors before it (nested analysis of variance, method of
-- moments), null if it has only one value wherever those agree. If no session is
-- stated, a build's dumps on a device are one session. A session with one build cannot
-- separate builds: their differences are then part of session_share, even if they are
-- due to the code.
--
-- The other columns have the smallest change that nine of ten comparisons of two builds
-- find (p at most 0.01, normal values): now, with each build recorded once, and with
-- one improvement. Null if it is unknown: without two sessions, two dumps of a
-- recording, or two devices.
--
-- filters: operator_values
--
-- portions: model
--
-- columns:
--   model, backend, run, event_name, delegate_id, ordinal, kind, unit
--   dump_count         BIGINT  Dumps that count, at least 8.
--   device_count       BIGINT  Devices in them.
--   session_count      BIGINT  Sessions on devices.
--   build_count        BIGINT  Builds.
--   spread             DOUBLE(share)  Standard deviation of all factors together, a
--                              share.
--   device_share       DOUBLE  Share of the variance, 0 to 1.
--   firmware_share     DOUBLE  Share.
--   governor_share     DOUBLE  Share.
--   temperature_share  DOUBLE  Share.
--   session_share      DOUBLE  Share.
--   build_share        DOUBLE  Share.
--   process_share      DOUBLE  Share.
--   detectable         DOUBLE(share)  Smallest change found now, a share: 0.05 is 5 %.
--   with_dumps         DOUBLE(share)  With twice as many dumps in each recording.
--   with_sessions      DOUBLE(share)  With two sessions of each build.
--   with_pairs         DOUBLE(share)  With as many dumps in pairs, see 'record
--                              --against'.
--   with_pool          DOUBLE(share)  With all the devices as one pool.
WITH facts AS (
    SELECT
        dump_id,
        dense_rank() OVER (ORDER BY device) AS device_number,
        dense_rank() OVER (ORDER BY coalesce(firmware, '')) AS firmware_number,
        dense_rank() OVER (ORDER BY coalesce(governor, '')) AS governor_number,
        floor(coalesce(temperature_c, 0e0) / 5) AS temperature_number,
        dense_rank() OVER (
            ORDER BY device, session IS NULL, coalesce(session, build)
        ) AS session_number,
        dense_rank() OVER (ORDER BY build) AS build_number
    FROM named_dumps
    WHERE is_chosen(:device, device) AND is_chosen(:model, model)
),
split AS (
    SELECT
        v.model, v.backend, v.run, v.event_name, v.delegate_id, v.ordinal, v.unit,
        min(v.kind) AS kind, count(*) AS dump_count,
        count(DISTINCT f.device_number) AS device_count,
        count(DISTINCT f.session_number) AS session_count,
        count(DISTINCT f.build_number) AS build_count,
        variance_components(array_sort(array_agg(array(
            v.y, CAST(f.device_number AS DOUBLE), CAST(f.firmware_number AS DOUBLE),
            CAST(f.governor_number AS DOUBLE), CAST(f.temperature_number AS DOUBLE),
            CAST(f.session_number AS DOUBLE), CAST(f.build_number AS DOUBLE)
        )))) AS found
    FROM operator_values AS v
    JOIN facts AS f ON f.dump_id = v.dump_id
    GROUP BY
        v.model, v.backend, v.run, v.event_name, v.delegate_id, v.ordinal, v.unit
    HAVING count(*) >= 8
)
SELECT
    model, backend, run, event_name, delegate_id, ordinal, kind, unit, dump_count,
    device_count, session_count, build_count, exp(sqrt(found.total)) - 1 AS spread,
    found.device / nullif(found.total, 0e0) AS device_share,
    found.firmware / nullif(found.total, 0e0) AS firmware_share,
    found.governor / nullif(found.total, 0e0) AS governor_share,
    found.temperature / nullif(found.total, 0e0) AS temperature_share,
    found.session / nullif(found.total, 0e0) AS session_share,
    found.build / nullif(found.total, 0e0) AS build_share,
    found.process / nullif(found.total, 0e0) AS process_share,
    exp(found.now) - 1 AS detectable, exp(found.more_dumps) - 1 AS with_dumps,
    exp(found.more_sessions) - 1 AS with_sessions, exp(found.pairs) - 1 AS with_pairs,
    exp(found.pool) - 1 AS with_pool
FROM split
ORDER BY
    model, backend NULLS LAST, run, event_name, delegate_id NULLS LAST, ordinal, unit
