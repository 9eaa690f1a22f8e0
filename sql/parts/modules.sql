-- modules: The module whose own nodes an operator runs in the head.
--
-- Reads measured and verdicts.
--
-- columns:
--   series_id    BIGINT  Number of the operator's series.
--   module_path  STRING  Path of the module, '' if the program's; null if several.
SELECT
    v.series_id,
    CASE WHEN min(e.module_path) = max(e.module_path) THEN min(e.module_path) END
        AS module_path
FROM verdicts AS v
JOIN (
    SELECT DISTINCT
        m.level, m.device, m.model, m.backend, m.run, m.event_name, m.delegate_id,
        m.ordinal, m.run_signature_id, m.event_signature_id, d.etrecord_id
    FROM measured AS m
    JOIN dumps AS d ON d.dump_id = m.dump_id
    WHERE m.is_head = 1 AND d.etrecord_id IS NOT NULL
) AS h ON h.level = v.level AND same_operator(h, v)
JOIN event_modules AS e ON e.etrecord_id = h.etrecord_id AND same_event(e, h)
WHERE e.is_own
GROUP BY v.series_id
