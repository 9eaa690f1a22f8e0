-- event_signatures: The distinct event signatures of a lake.
--
-- Writers may have different rules of producers ([[producers]]) and so disagree on the
-- kind and unit of a signature: then the first pair in alphabetical order counts.
WITH paired AS (
    SELECT *, kind || '/' || coalesce(unit, '') AS kind_and_unit
    FROM lake_event_signatures
)
SELECT
    event_signature_id, max(name) AS name, max(instruction_id) AS instruction_id,
    max(delegate_id_int) AS delegate_id_int, max(delegate_id_str) AS delegate_id_str,
    split_part(min(kind_and_unit), '/', 1) AS kind, max(is_profiled) AS is_profiled,
    max(is_logged) AS is_logged, max(debug_name) AS debug_name,
    max(name_hex) AS name_hex,
    nullif(
        substr(
            min(kind_and_unit), length(split_part(min(kind_and_unit), '/', 1)) + 2
        ), ''
    ) AS unit
FROM paired
GROUP BY event_signature_id
