-- run_names: The names of the runs of each signature in a dump.
--
-- params:
--   run  STRING[] OF named_run_signatures.run = NULL  Only these runs, e.g. 'Execute
--                 #2'.
--
-- columns:
--   dump_id           INT     Dump of the runs.
--   run_signature_id  BIGINT  Signature of the runs.
--   run               STRING  Name of the runs, stable across builds.
SELECT dump_id, run_signature_id, run
FROM named_run_signatures
WHERE CAST(:run AS ARRAY<STRING>) IS NULL
    OR array_contains(CAST(:run AS ARRAY<STRING>), run)
