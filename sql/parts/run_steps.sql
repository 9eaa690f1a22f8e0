-- run_steps: The kernels and delegate calls of runs, by debug handle.
--
-- Reads program_nodes.
--
-- columns:
--   etrecord_id
--   method              STRING   Method of the program: each that the run can be of.
--   run_signature_id
--   instruction_id      INT      Instruction id.
--   event_signature_id  BIGINT   Signature of the kernel, call or event in a delegate.
--   kind                STRING   kernel, delegate_call or delegate_op.
--   handle              BIGINT   A debug handle of the event.
--   operator            STRING   Operator of a kernel; null for others.
--   entry_count         BIGINT   How often the instruction's list has the handle.
--   is_shared           BOOLEAN  Whether other instructions have it too.
SELECT
    o.etrecord_id, n.method, o.run_signature_id, s.instruction_id,
    o.event_signature_id, s.kind, n.handle,
    CASE WHEN s.kind = 'kernel' THEN s.op_type END AS operator,
    coalesce(h.entry_count, 1) AS entry_count,
    min(s.instruction_id) OVER of_handle < max(s.instruction_id) OVER of_handle
        AS is_shared
FROM event_origins AS o
JOIN named_event_signatures AS s ON s.event_signature_id = o.event_signature_id
JOIN (SELECT DISTINCT etrecord_id, method, handle FROM program_nodes) AS n
    ON n.etrecord_id = o.etrecord_id AND n.method = coalesce(o.method, n.method)
    AND array_contains(o.debug_handles, n.handle)
LEFT JOIN (
    SELECT etrecord_id, method, instruction_id, debug_handle, count(*) AS entry_count
    FROM debug_handles
    GROUP BY etrecord_id, method, instruction_id, debug_handle
) AS h
    ON h.etrecord_id = o.etrecord_id AND h.method = n.method
    AND h.instruction_id = s.instruction_id AND h.debug_handle = n.handle
WHERE s.kind IN ('kernel', 'delegate_call', 'delegate_op')
WINDOW of_handle AS (
    PARTITION BY o.etrecord_id, n.method, o.run_signature_id, n.handle
)
