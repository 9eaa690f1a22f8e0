-- notes: Notes that people wrote on points: build x device x model x operator.
--
-- A note is on all points of its build with the names that it states; the other names
-- are null. It is listed if a chosen dump has such a point. With `pool`, notes on all
-- devices are left out. On a service, /notes/NOTE_ID opens the chart with the point.
--
-- filters: chosen_dumps
--
-- columns:
--   note_id, text, written_by, written_at, build, device, pool, model, backend,
--   event_name, delegate_id, ordinal
SELECT
    n.note_id, n.text, n.written_by, n.written_at, n.build, n.device, n.pool, n.model,
    n.backend, n.event_name, n.delegate_id, n.ordinal
FROM point_notes AS n
WHERE (CAST(:pool AS ARRAY<STRING>) IS NULL
        OR n.device IS NOT NULL OR n.pool IS NOT NULL)
    AND EXISTS (SELECT 1 FROM chosen_dumps AS d WHERE is_noted(n, d))
ORDER BY n.written_at, n.note_id
