-- lineage_dumps: Dumps of a build and of the builds before it.
--
-- params:
--   head  STRING OF builds.name  Build to judge.
--
-- columns:
--   dump_id, device, model, backend, build
--   distance  INT  0 for the build in question, 1 for the one before, ...
SELECT d.dump_id, d.device, d.model, d.backend, d.build, l.distance
FROM named_dumps AS d
JOIN (
    SELECT CAST(:head AS STRING) AS build, 0 AS distance
    UNION ALL
    SELECT ancestor, distance FROM build_lineage WHERE build = CAST(:head AS STRING)
) AS l ON l.build = d.build
