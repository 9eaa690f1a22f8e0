-- Rows of counters for the values that delegates logged as events and that are no times.
-- new_events are events of dumps, new_signatures the signatures of counters among them.
SELECT
    e.dump_id, e.run_index,
    CASE
        WHEN right(s.counter, length(s.unit) + 3) = ' (' || s.unit || ')'
            THEN left(s.counter, length(s.counter) - length(s.unit) - 3)
        ELSE s.counter
    END AS name,
    s.unit, CAST(e.duration_ticks AS DOUBLE) AS value, CAST(NULL AS STRING) AS source,
    e.event_signature_id, s.instruction_id
FROM new_events AS e
JOIN (
    SELECT DISTINCT
        event_signature_id, instruction_id, unit,
        coalesce(nullif(delegate_id_str, ''), name) AS counter
    FROM new_signatures
) AS s ON s.event_signature_id = e.event_signature_id
WHERE e.flags <= 1
