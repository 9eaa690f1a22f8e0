-- Dumps that have events whose signature is among the `changes`, and how many runs.
SELECT dump_id, n_runs FROM dumps
WHERE dump_id IN (
    SELECT e.dump_id FROM events AS e JOIN changes AS c USING (event_signature_id)
)
ORDER BY dump_id
