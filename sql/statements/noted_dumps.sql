-- A row if the store has a dump with the points that a note is on; null is any.
SELECT 1
FROM named_dumps
WHERE build = $build
    AND ($device IS NULL OR device = $device)
    AND ($pool IS NULL OR pool = $pool)
    AND ($model IS NULL OR model = $model)
    AND ($backend IS NULL OR backend = $backend)
    AND ($event_name IS NULL OR EXISTS (
        SELECT 1
        FROM named_event_signatures
        WHERE event_name = $event_name AND ($delegate_id IS NULL OR delegate_id = $delegate_id)
    ))
    AND ($ordinal IS NULL OR $ordinal > 0)
LIMIT 1
