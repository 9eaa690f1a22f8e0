-- compared_dumps: The chosen dumps of two builds.
--
-- params:
--   base  STRING OF builds.name          Build to compare with.
--   head  STRING(<>base) OF builds.name  Build to judge.
--
-- filters: chosen_dumps without build
--
-- columns:
--   dump_id, device, model, backend, is_head
SELECT
    dump_id, device, model, backend,
    CASE WHEN build = CAST(:head AS STRING) THEN 1 ELSE 0 END AS is_head
FROM chosen_dumps
WHERE build IN (CAST(:base AS STRING), CAST(:head AS STRING))
