-- value_pairs: Each value that the base logged, with the head's value.
--
-- Reads logged_values.
--
-- columns:
--   dump_id      INT      Dump of the base.
--   run_index
--   event_index  INT      Event of the run, in the order of execution.
--   instruction_id, delegate_id
--   event_name   STRING   Operator; '' if none is known.
--   ordinal      BIGINT   Which of the run's instructions of that name and delegate id,
--                         from 1.
--   value_index
--   is_compared  BOOLEAN  Whether both have content of one type; null if the head has
--                         none.
--   is_equal     BOOLEAN  Whether the logged parts are equal.
SELECT
    b.dump_id, b.run_index, b.event_index, b.instruction_id, b.delegate_id,
    b.event_name, b.ordinal, b.value_index,
    b.value_type = h.value_type
        AND (b.sha256 IS NOT NULL OR b.dtype IS NULL)
        AND (h.sha256 IS NOT NULL OR h.dtype IS NULL) AS is_compared,
    b.sha256 IS NOT DISTINCT FROM h.sha256 AND b.dtype IS NOT DISTINCT FROM h.dtype
        AND b.int_value IS NOT DISTINCT FROM h.int_value
        AND b.double_value IS NOT DISTINCT FROM h.double_value AS is_equal
FROM logged_values AS b
LEFT JOIN logged_values AS h
    ON h.is_head = 1 AND same_family(h, b) AND h.run_number = b.run_number
    AND h.event_name = b.event_name AND h.delegate_id IS NOT DISTINCT FROM b.delegate_id
    AND h.ordinal = b.ordinal AND h.value_index = b.value_index
WHERE b.is_head = 0
