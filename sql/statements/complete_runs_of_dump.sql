-- Runs of a dump with a Method::execute and without a flagged event.
SELECT DISTINCT run_index, run_signature_id FROM events
WHERE dump_id = $dump
    AND event_signature_id IN (
        SELECT event_signature_id FROM event_signatures WHERE kind = 'method'
    )
    AND run_index NOT IN (SELECT run_index FROM events WHERE dump_id = $dump AND flags > 1)
