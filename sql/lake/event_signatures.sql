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
WITH told AS (
    SELECT
        *,
        CASE
            WHEN unit IS NOT NULL OR delegate_id_int IS NOT NULL THEN ''
            WHEN delegate_id_str IS NULL AND kind = 'other'
                THEN replace(name, 'ArmBackend::', 'EthosUBackend::')
            WHEN kind IN ('delegate_op', 'delegate_phase') THEN delegate_id_str
            ELSE ''
        END AS text
    FROM lake_event_signatures
),
parted AS (
    SELECT
        *, split_part(text, ':', -1) AS tail,
        CASE
            WHEN instr(text, ':') > 1 THEN split_part(split_part(text, ':', -1), '.', 1)
            ELSE ''
        END AS node
    FROM told
),
ruled AS (
    SELECT
        *,
        CASE
            WHEN text = '' THEN kind || '/' || coalesce(unit, '')
            WHEN kind = 'other' THEN CASE
                WHEN substr(text, 1, 24) = 'EthosUBackend::execute()'
                    OR substr(text, 1, 25) = '+EthosUBackend::execute()'
                    THEN 'delegate_phase/'
                WHEN substr(text, 1, 21) = 'EthosUBackend::init()'
                    OR substr(text, 1, 22) = '+EthosUBackend::init()' THEN 'load/'
                ELSE 'other/'
            END
            WHEN (substr(text, 1, 5) = 'ETVK_' AND length(text) > 5
                OR substr(text, 1, 4) = 'VGF_' AND length(text) > 4)
                AND translate(text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ_', '') = ''
                THEN 'delegate_phase/'
            WHEN length(text) > 5 AND right(text, 5) = ' (us)' THEN CASE
                WHEN substr(node, 1, 5) = 'OpId_'
                    AND substr(node, 6, 1) BETWEEN '0' AND '9' THEN 'delegate_op/us'
                ELSE 'delegate_phase/us'
            END
            WHEN length(text) > 9 AND right(text, 9) = ' (cycles)'
                THEN 'delegate_counter/cycles'
            WHEN length(text) > 8 AND right(text, 8) = ' (bytes)'
                THEN 'delegate_counter/bytes'
            WHEN length(text) > 8 AND right(text, 8) = ' (count)'
                THEN 'delegate_counter/count'
            WHEN substr(node, 1, 5) = 'OpId_' AND length(tail) > 5
                AND translate(substr(tail, 6), '0123456789', '') = ''
                THEN 'other/unknown'
            WHEN split_part(text, ' (', 1)
                IN ('QNN', 'QNN accelerator', 'RPC', 'Accelerator')
                AND instr(substr(text, length(split_part(text, ' (', 1)) + 4), ')') > 0
                AND (instr(text, ' #') = 0 OR split_part(text, ' #', -1) = ''
                    OR translate(split_part(text, ' #', -1), '0123456789', '') <> '')
                THEN 'other/unknown'
            WHEN substr(node, 1, 3) = 'ios' AND length(node) > 3
                AND translate(substr(node, 4), '0123456789', '') = ''
                AND length(tail) > length(node) + 1
                AND translate(
                    lower(substr(tail, length(node) + 2)),
                    'abcdefghijklmnopqrstuvwxyz0123456789_', ''
                ) = '' THEN 'delegate_op/ns'
            ELSE kind || '/'
        END AS rule
    FROM parted
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
