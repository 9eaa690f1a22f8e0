-- What delegates logged as events and is no time, as rows of counters, from tables that stand for
-- some_events and some_signatures.
SELECT
    e.dump_id, e.run_index,
    CASE
        WHEN right(s.counter, length(s.unit) + 3) = ' (' || s.unit || ')'
            THEN left(s.counter, length(s.counter) - length(s.unit) - 3)
        ELSE s.counter
    END AS name,
    s.unit, CAST(e.duration_ticks AS DOUBLE) AS value, CAST(NULL AS STRING) AS source,
    e.event_signature_id, s.instruction_id
FROM some_events AS e
JOIN (
    SELECT
        event_signature_id, instruction_id, unit,
        coalesce(nullif(delegate_id_str, ''), name) AS counter
    FROM some_signatures
    WHERE kind = 'delegate_counter'
) AS s ON s.event_signature_id = e.event_signature_id
WHERE e.flags <= 1
