-- lineage_recordings: Dumps of a build, of those before it, and of reference builds.
--
-- params:
--   head  STRING OF builds.name  Build to judge.
--
-- columns:
--   dump_id, device, pool, model, backend, build, ns_per_tick
--   step_ns      DOUBLE     Smallest step of its clock, nanoseconds; null if unknown.
--   distance     INT        0 for the build in question, 1 for the one before, ...;
--                           null for a reference build.
--   session      STRING     Session of the recording; '' if unknown.
--   pair         STRING     Pair of dumps in the session; '' if none.
--   recorded_at  TIMESTAMP  Begin of the recording on the device; null if unknown.
SELECT
    d.dump_id, d.device, d.pool, d.model, d.backend, d.build, d.ns_per_tick,
    d.resolution_ticks * d.ns_per_tick AS step_ns, l.distance,
    coalesce(d.session, '') AS session, coalesce(d.pair, '') AS pair,
    min(CASE WHEN is_plausible(d.captured_at, d.ingested_at) THEN d.captured_at END)
        OVER (
            PARTITION BY
                d.device, d.pool, d.model, d.backend, d.build, coalesce(d.session, '')
        ) AS recorded_at
FROM named_dumps AS d
LEFT JOIN (
    SELECT CAST(:head AS STRING) AS build, 0 AS distance
    UNION ALL
    SELECT ancestor, distance FROM build_lineage WHERE build = CAST(:head AS STRING)
) AS l ON l.build = d.build
WHERE l.build IS NOT NULL OR (d.build_role = 'reference' AND d.session IS NOT NULL)
