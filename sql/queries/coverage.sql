-- coverage: Recorded dumps of each model on each device, build by build.
--
-- Builds have the order of builds_in_order. A combination without a row was not
-- recorded.
--
-- filters: chosen_dumps
--
-- portions: device
--
-- next: build_history, coverage_gaps
--
-- columns:
--   device, pool, model, backend, build
--   dump_count         BIGINT     Dumps, at least 1.
--   run_count          BIGINT     Runs in them.
--   event_count        BIGINT     Profile events in them.
--   last_captured_at   TIMESTAMP  Time of the last recording; null if unknown.
--   last_ingested_at   TIMESTAMP  Time of the last commit to the store.
--   build_ordinal, committed_at
--   first_captured_at  TIMESTAMP  Time of the first recording; null if unknown.
SELECT
    d.device, d.pool, d.model, d.backend, d.build,
    count(*) AS dump_count,
    CAST(sum(d.n_runs) AS BIGINT) AS run_count,
    CAST(sum(d.n_events) AS BIGINT) AS event_count,
    max(d.captured_at) AS last_captured_at,
    max(d.ingested_at) AS last_ingested_at,
    o.build_ordinal, o.committed_at, min(d.captured_at) AS first_captured_at
FROM named_dumps AS d
JOIN builds_in_order AS o ON o.build = d.build
WHERE d.dump_id IN (SELECT dump_id FROM chosen_dumps)
GROUP BY d.device, d.pool, d.model, d.backend, d.build, o.position,
    o.build_ordinal, o.committed_at
ORDER BY
    d.device, d.model, d.backend NULLS LAST, o.position, d.pool NULLS LAST
