-- page_devices: Devices of the chosen dumps, with the newest build of each.
--
-- filters: chosen_dumps
--
-- columns:
--   device, pool
--   model_count    BIGINT     Models on a backend, at least 1.
--   dump_count     BIGINT     Dumps, at least 1.
--   event_count    BIGINT     Profile events in them.
--   last_position  INT        Place of its newest build in the store's order, from 1.
--   last_at        TIMESTAMP  Its last recording, or the last commit if no dump states
--                             when it was recorded.
SELECT
    d.device, d.pool,
    count(DISTINCT d.model || ' / ' || coalesce(d.backend, '')) AS model_count,
    count(*) AS dump_count,
    CAST(sum(d.n_events) AS BIGINT) AS event_count,
    max(o.position) AS last_position,
    coalesce(max(d.captured_at), max(d.ingested_at)) AS last_at
FROM named_dumps AS d
JOIN builds_in_order AS o ON o.build = d.build
WHERE d.dump_id IN (SELECT dump_id FROM chosen_dumps)
GROUP BY d.device, d.pool
ORDER BY d.device, d.pool NULLS LAST
