-- event_signatures: What events are told apart by, once each.
--
-- Lakes before schema 10 do not tell what ingest/producers.toml now does: its rules are
-- put in here, as kind/unit. Where writers had different rules, the first kind in order
-- of the alphabet holds.
--
-- columns:
--   event_signature_id  BIGINT   Number of the signature.
--   name                STRING   Name of the event, or '' without one.
--   instruction_id      INT      Instruction id; null outside the program.
--   delegate_id_int     INT      Integer delegate debug id; null when absent.
--   delegate_id_str     STRING   String delegate debug id; null when absent.
--   kind                STRING   Kind of the event.
--   is_profiled         BOOLEAN  Whether the signature has a profile event.
--   is_logged           BOOLEAN  Whether values were logged for it.
--   debug_name          STRING   Name of the first debug event; null when not logged.
--   name_hex            STRING   Bytes of the name where they are not UTF-8, else null.
--   unit                STRING   Unit of the value, if it is not in ticks.
WITH ruled AS (
    SELECT
        *,
        CASE
            WHEN unit IS NULL AND delegate_id_int IS NULL AND delegate_id_str IS NOT NULL
                AND kind IN ('delegate_op', 'delegate_phase') THEN rule_of_delegate_id
            WHEN unit IS NULL AND delegate_id_int IS NULL AND delegate_id_str IS NULL
                AND kind = 'other' THEN rule_of_event_name
            ELSE kind || '/' || coalesce(unit, '')
        END AS rule
    FROM lake_event_signatures
)
SELECT
    event_signature_id, max(name) AS name, max(instruction_id) AS instruction_id,
    max(delegate_id_int) AS delegate_id_int, max(delegate_id_str) AS delegate_id_str,
    split_part(min(rule), '/', 1) AS kind, max(is_profiled) AS is_profiled,
    max(is_logged) AS is_logged, max(debug_name) AS debug_name,
    max(name_hex) AS name_hex,
    nullif(substr(min(rule), length(split_part(min(rule), '/', 1)) + 2), '') AS unit
FROM ruled
GROUP BY event_signature_id
