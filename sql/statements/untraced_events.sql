-- Event signatures of the runs in `untraced`, and whether they are on a chain, which distinguishes
-- instruction 0 of the program from events outside it. A logged value counts with the timed event
-- that it belongs to. Where events were dropped, the kind decides: an application's own events are
-- of kind other.
WITH timed AS (
    SELECT DISTINCT u.etrecord_id, u.run_signature_id, s.event_signature_id,
        s.delegate_id_int, s.delegate_id_str, e.chain_index, e.run_index = u.run_index AS is_first
    FROM untraced AS u
    JOIN events AS e ON e.dump_id = u.dump_id AND e.run_signature_id = u.run_signature_id
    JOIN event_signatures AS s ON s.event_signature_id = e.event_signature_id
    WHERE s.instruction_id = 0 AND e.chain_index >= 0
), logged AS (
    SELECT DISTINCT u.etrecord_id, u.run_signature_id, v.delegate_id_int, v.delegate_id_str
    FROM untraced AS u
    JOIN debug_values AS v ON v.dump_id = u.dump_id AND v.run_index = u.run_index
    WHERE v.instruction_id = 0 AND v.chain_index >= 0 AND NOT v.is_output AND NOT EXISTS (
        SELECT 1 FROM timed AS t
        WHERE t.is_first AND t.chain_index = v.chain_index
        AND t.etrecord_id = u.etrecord_id AND t.run_signature_id = u.run_signature_id
        AND t.delegate_id_int IS NOT DISTINCT FROM v.delegate_id_int
        AND t.delegate_id_str IS NOT DISTINCT FROM v.delegate_id_str
    )
), listed AS (
    SELECT u.etrecord_id, u.dump_id, u.run_signature_id, unnest(r.events) AS event_signature_id,
        generate_subscripts(r.events, 1) AS place
    FROM untraced AS u JOIN run_signatures AS r ON r.run_signature_id = u.run_signature_id
)
SELECT l.etrecord_id, l.dump_id, l.run_signature_id, s.*, EXISTS (
    SELECT 1 FROM timed AS t
    WHERE t.etrecord_id = l.etrecord_id AND t.run_signature_id = l.run_signature_id
    AND t.event_signature_id = l.event_signature_id
) OR s.is_profiled AND s.kind <> 'other' AND EXISTS (
    SELECT 1 FROM dropped_events AS x WHERE x.dump_id = l.dump_id
) OR NOT s.is_profiled AND EXISTS (
    SELECT 1 FROM logged AS v
    WHERE v.etrecord_id = l.etrecord_id AND v.run_signature_id = l.run_signature_id
    AND v.delegate_id_int IS NOT DISTINCT FROM s.delegate_id_int
    AND v.delegate_id_str IS NOT DISTINCT FROM s.delegate_id_str
) AS is_on_chain
FROM listed AS l JOIN event_signatures AS s ON s.event_signature_id = l.event_signature_id
ORDER BY l.etrecord_id, l.dump_id, l.run_signature_id, l.place
