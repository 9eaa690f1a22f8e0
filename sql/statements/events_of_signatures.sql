-- Events of some signatures of a dump, as dump 0, by signature and in order of runs.
SELECT 0::INTEGER AS dump_index, run_signature_id, event_signature_id, run_index, chain_index,
    duration_ticks, flags
FROM events
WHERE dump_id = $dump AND event_signature_id IN (SELECT unnest($signatures))
ORDER BY run_signature_id, event_signature_id, run_index, occurrence
