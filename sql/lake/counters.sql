-- counters: Counters of a lake's dumps.
--
-- Lakes before schema 10 have those alone that manifests state: what delegates logged
-- is taken from the events.
--
-- columns:
--   dump_id             BIGINT  Number of the dump.
--   run_index           INT     Position of the run in its dump; null for all of it.
--   name                STRING  Name of the counter.
--   unit                STRING  Unit of the value.
--   value               DOUBLE  What was counted or used up.
--   source              STRING  Who stated it; null if the manifest did, or an event.
--   event_signature_id  BIGINT  Signature of the event that logged it, if one did.
--   instruction_id      INT     Instruction of the delegate that logged it; else null.
SELECT
    dump_id, run_index, name, unit, value, source, event_signature_id, instruction_id
FROM lake_counters
UNION ALL
SELECT
    dump_id, run_index, name, unit, value, source, event_signature_id, instruction_id
FROM (logged_counters) AS l
WHERE dump_id NOT IN (
    SELECT dump_id FROM lake_counters WHERE event_signature_id IS NOT NULL
)
