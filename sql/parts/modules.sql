-- modules: The module whose own nodes an operator runs in the head.
--
-- Reads measured.
--
-- columns:
--   level        STRING  Level of the series.
--   device       STRING  Name of the device.
--   model        STRING  Name of the model.
--   backend      STRING  Backend of the model; null if none.
--   event_name   STRING  Name of the operator, else its delegate id.
--   delegate_id  STRING  Delegate debug id; null outside delegates.
--   ordinal      INT     Which instruction of that name and delegate id.
--   module_path  STRING  Path of the module, '' if the program's; null if several.
SELECT
    level, device, model, backend, event_name, delegate_id, ordinal,
    CASE WHEN min(module_path) = max(module_path) THEN min(module_path) END
        AS module_path
FROM (
    SELECT DISTINCT
        m.level, m.device, m.model, m.backend, m.event_name, m.delegate_id, m.ordinal,
        m.event_signature_id, d.etrecord_id
    FROM measured AS m
    JOIN dumps AS d ON d.dump_id = m.dump_id
    WHERE m.is_head = 1 AND d.etrecord_id IS NOT NULL
) AS h
JOIN event_modules AS e
    ON e.etrecord_id = h.etrecord_id AND e.event_signature_id = h.event_signature_id
WHERE e.is_own
GROUP BY level, device, model, backend, event_name, delegate_id, ordinal
