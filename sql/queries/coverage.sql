-- coverage: What was recorded: dumps of each model on each device, build by build.
--
-- Builds come in the order of their ordinals, else of their commit times, else of their
-- first recordings. What has no row was not recorded.
--
-- params:
--   newest  INT(1..) = NULL  Only so many builds of the store, the newest.
-- filters: chosen_dumps
--
-- columns:
--   device            STRING     Name of the device.
--   pool              STRING     Device pool; null if none.
--   model             STRING     Name of the model.
--   backend           STRING     Backend of the model; null if none.
--   build             STRING     Id of the build.
--   builds_since      INT        Builds of the store that came after it.
--   dump_count        BIGINT     Dumps, at least 1.
--   run_count         BIGINT     Runs in them.
--   event_count       BIGINT     Profile events in them.
--   last_captured_at  TIMESTAMP  Time of the last recording; null if unknown.
--   last_ingested_at  TIMESTAMP  Time of the last commit to the store.
WITH ordered AS (
    SELECT build, position, count(*) OVER () - position AS builds_since
    FROM builds_in_order
)
SELECT
    d.device, d.pool, d.model, d.backend, d.build,
    CAST(o.builds_since AS INT) AS builds_since,
    count(*) AS dump_count,
    CAST(sum(d.n_runs) AS BIGINT) AS run_count,
    CAST(sum(d.n_events) AS BIGINT) AS event_count,
    max(d.captured_at) AS last_captured_at,
    max(d.ingested_at) AS last_ingested_at
FROM named_dumps AS d
JOIN ordered AS o ON o.build = d.build
WHERE d.dump_id IN (SELECT dump_id FROM chosen_dumps)
    AND (CAST(:newest AS INT) IS NULL OR o.builds_since < CAST(:newest AS INT))
GROUP BY d.device, d.pool, d.model, d.backend, d.build, o.builds_since, o.position
ORDER BY
    d.device, d.model, d.backend NULLS LAST, o.position
