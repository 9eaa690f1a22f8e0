-- point_notes: Notes on points (build x device x model x operator), not withdrawn.
--
-- A note is on all points of its build with the names that it states: without a device
-- and a pool on those of all devices, without an operator on those of all operators;
-- these names are null then.
--
-- columns:
--   note_id, text, written_by, written_at, build, device, pool, model, backend,
--   event_name, delegate_id, ordinal
SELECT
    group_id AS note_id, reason AS text, decided_by AS written_by,
    decided_at AS written_at, build, device, pool, model, backend, event_name,
    delegate_id, ordinal
FROM group_decisions
WHERE state = 'noted'
    AND group_id NOT IN (
        SELECT group_id FROM group_decisions WHERE state = 'withdrawn'
    )
