-- event_signatures: What events are told apart by, once each.
--
-- Lakes of schema 6 call phases of delegates operators.
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
SELECT DISTINCT
    event_signature_id, name, instruction_id, delegate_id_int, delegate_id_str,
    CASE
        WHEN kind = 'delegate_op' AND delegate_id_int IS NULL
            AND (substr(delegate_id_str, 1, 5) = 'ETVK_' AND length(delegate_id_str) > 5
                OR substr(delegate_id_str, 1, 4) = 'VGF_' AND length(delegate_id_str) > 4)
            AND translate(delegate_id_str, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ_', '') = ''
        THEN 'delegate_phase'
        ELSE kind
    END AS kind,
    is_profiled, is_logged, debug_name, name_hex
FROM lake_event_signatures
