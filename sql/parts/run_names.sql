-- run_names: The names of the runs of each signature in a dump.
--
-- params:
--   run
--
-- columns:
--   dump_id, run_signature_id, run
SELECT dump_id, run_signature_id, run
FROM named_run_signatures
WHERE is_chosen(:run, run)
