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
    e.dump_id, e.run_index,
    CASE
        WHEN right(s.counter, length(s.unit) + 3) = ' (' || s.unit || ')'
            THEN left(s.counter, length(s.counter) - length(s.unit) - 3)
        ELSE s.counter
    END AS name,
    s.unit, CAST(e.duration_ticks AS DOUBLE) AS value, CAST(NULL AS STRING) AS source,
    e.event_signature_id, s.instruction_id
FROM events AS e
JOIN (
    SELECT
        event_signature_id, instruction_id, unit,
        coalesce(nullif(delegate_id_str, ''), name) AS counter
    FROM event_signatures
    WHERE kind = 'delegate_counter'
) AS s ON s.event_signature_id = e.event_signature_id
WHERE e.flags <= 1
    AND e.dump_id NOT IN (
        SELECT dump_id FROM lake_counters WHERE event_signature_id IS NOT NULL
    )
