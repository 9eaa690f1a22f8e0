-- Dumps with an event signature in several run signatures, and with their events; their runs.
SELECT dump_id, n_runs
FROM dumps
WHERE dump_id IN (SELECT dump_id FROM signature_places WHERE place_count > 1)
    AND dump_id IN (SELECT dump_id FROM events)
ORDER BY dump_id
