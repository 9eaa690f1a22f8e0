-- event_stats: Statistics of events per dump, run signature and event signature.
--
-- Lakes before schema 8 do not tell run signatures apart: what they have of an event
-- counts for the dump's run signature with the event that has the most runs.
--
-- columns:
--   dump_id               INT     Number of the dump.
--   run_signature_id      BIGINT  Signature of the runs.
--   event_signature_id    BIGINT  Signature of the events.
--   sample_count          BIGINT  As in a store.
--   zero_count            BIGINT  As in a store.
--   min_ticks             BIGINT  As in a store.
--   max_ticks             BIGINT  As in a store.
--   sum_ticks             DOUBLE  In ticks; as in a store.
--   p10_ticks             DOUBLE  In ticks; as in a store.
--   p50_ticks             DOUBLE  In ticks; as in a store.
--   p90_ticks             DOUBLE  In ticks; as in a store.
--   p95_ticks             DOUBLE  In ticks; as in a store.
--   p99_ticks             DOUBLE  In ticks; as in a store.
--   steady_count          BIGINT  As in a store.
--   steady_p50_ticks      DOUBLE  In ticks; as in a store.
--   steady_grouped_ticks  DOUBLE  In ticks; as in a store.
WITH places AS (
    SELECT dump_id, run_signature_id, event_signature_id
    FROM (
        SELECT
            r.dump_id, r.run_signature_id, e.event_signature_id,
            row_number() OVER (
                PARTITION BY r.dump_id, e.event_signature_id
                ORDER BY r.run_count DESC, r.run_signature_id DESC
            ) AS choice
        FROM (
            SELECT dump_id, run_signature_id, count(*) AS run_count
            FROM runs
            WHERE dump_id IN (
                SELECT dump_id FROM lake_event_stats WHERE run_signature_id IS NULL
            )
            GROUP BY dump_id, run_signature_id
        ) AS r
        JOIN (
            SELECT run_signature_id, explode(events) AS event_signature_id
            FROM run_signatures
        ) AS e ON e.run_signature_id = r.run_signature_id
    ) AS p
    WHERE choice = 1
)
SELECT
    dump_id, run_signature_id, event_signature_id, sample_count, zero_count, min_ticks,
    max_ticks, sum_ticks, p10_ticks, p50_ticks, p90_ticks, p95_ticks, p99_ticks,
    steady_count, steady_p50_ticks, steady_grouped_ticks
FROM lake_event_stats
WHERE run_signature_id IS NOT NULL
UNION ALL
SELECT
    x.dump_id, p.run_signature_id, x.event_signature_id, x.sample_count, x.zero_count,
    x.min_ticks, x.max_ticks, x.sum_ticks, x.p10_ticks, x.p50_ticks, x.p90_ticks,
    x.p95_ticks, x.p99_ticks, x.steady_count, x.steady_p50_ticks,
    x.steady_grouped_ticks
FROM lake_event_stats AS x
JOIN places AS p
    ON p.dump_id = x.dump_id AND p.event_signature_id = x.event_signature_id
WHERE x.run_signature_id IS NULL
