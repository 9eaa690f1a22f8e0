-- event_signatures: What events are told apart by, once each.
--
-- Lakes before schema 10 do not tell what ingest/producers.toml now does. Where writers
-- had different rules, the first kind in order of the alphabet holds.
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
WITH matched AS (
    SELECT
        *,
        CASE
            WHEN unit IS NOT NULL OR delegate_id_int IS NOT NULL THEN ''
            WHEN delegate_id_str IS NULL AND kind = 'other' THEN name
            WHEN kind IN ('delegate_op', 'delegate_phase') THEN delegate_id_str
            ELSE ''
        END AS told
    FROM lake_event_signatures
),
ruled AS (
    SELECT
        *,
        CASE
            WHEN told = '' THEN kind || '/' || coalesce(unit, '')
            WHEN kind = 'other' AND regexp_replace(
                told, '(?s)^[+]?EthosUBackend::execute[(][)].*$', ''
            ) = '' THEN 'delegate_phase/'
            WHEN kind = 'other' AND regexp_replace(
                told, '(?s)^[+]?EthosUBackend::init[(][)].*$', ''
            ) = '' THEN 'load/'
            WHEN kind = 'other' THEN 'other/'
            WHEN regexp_replace(told, '(?s)^.+ #[0-9]+$', '') = '' THEN 'delegate_op/'
            WHEN regexp_replace(told, '^(ETVK|VGF)_[A-Z_]+$', '') = ''
                THEN 'delegate_phase/'
            WHEN regexp_replace(told, '(?s)^.+:OpId_[0-9]+[^:]* [(]us[)]$', '') = ''
                THEN 'delegate_op/us'
            WHEN length(told) > 5 AND right(told, 5) = ' (us)' THEN 'delegate_phase/us'
            WHEN length(told) > 9 AND right(told, 9) = ' (cycles)'
                THEN 'delegate_counter/cycles'
            WHEN length(told) > 8 AND right(told, 8) = ' (bytes)'
                THEN 'delegate_counter/bytes'
            WHEN length(told) > 8 AND right(told, 8) = ' (count)'
                THEN 'delegate_counter/count'
            WHEN regexp_replace(told, '(?s)^.+:OpId_[0-9]+$', '') = ''
                OR regexp_replace(
                    told, '(?s)^(QNN|QNN accelerator|RPC|Accelerator) [(].+[)].*$', ''
                ) = '' THEN 'other/unknown'
            WHEN regexp_replace(told, '(?s)^.+:ios[0-9]+[.][0-9A-Za-z_]+$', '') = ''
                THEN 'delegate_op/ns'
            ELSE kind || '/'
        END AS rule
    FROM matched
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
