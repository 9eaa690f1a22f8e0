-- own_modules: The module whose own nodes an event runs.
--
-- An event that runs nodes of several modules has no row.
--
-- columns:
--   etrecord_id, run_signature_id, event_signature_id
--   module_path  STRING  Path of the module, '' if the program's.
SELECT
    etrecord_id, run_signature_id, event_signature_id, min(module_path) AS module_path
FROM event_modules
WHERE is_own
GROUP BY etrecord_id, run_signature_id, event_signature_id
HAVING min(module_path) = max(module_path)
