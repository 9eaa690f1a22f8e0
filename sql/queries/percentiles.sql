-- percentiles: Exact percentiles of every event's duration, over all dumps of a build.
--
-- Linear interpolation, as numpy's default. Flagged events and events timed in cycles
-- of unknown rate never count. Events of different dumps count alike: a long dump
-- weighs more than a short one.
--
-- filters: grouped_dumps
--
-- columns:
--   device          STRING  Name of the device; null with group_by.
--   pool            STRING  Device pool; null if none, and with group_by.
--   build           STRING  Id of the build.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   group           STRING  What the dumps have of what group_by names, else null.
--   event_name      STRING  Name of the event, else its delegate id.
--   instruction_id  INT     Instruction id; null outside the program.
--   delegate_id     STRING  Delegate debug id; null outside delegates.
--   kind            STRING  Kind of the event.
--   sample_count    BIGINT  Events counted, at least 1.
--   p10_ns          DOUBLE  10th percentile in nanoseconds; lower is better, like all
--                           that follow.
--   p50_ns          DOUBLE  Median.
--   p90_ns          DOUBLE  90th percentile.
--   p95_ns          DOUBLE  95th percentile.
--   p99_ns          DOUBLE  99th percentile.
--   avg_ns          DOUBLE  Mean.
--   min_ns          DOUBLE  Shortest.
--   max_ns          DOUBLE  Longest.
WITH chosen AS (
    SELECT
        dump_id, device, pool, build, model, backend, group_value,
        ns_per_tick, delegate_ns_per_tick,
        dense_rank() OVER (
            ORDER BY device, pool, build, model, backend, group_value
        ) AS group_id
    FROM grouped_dumps
),
-- Numbers for names: the events below are grouped and sorted by integers only.
signatures AS (
    SELECT
        event_signature_id, kind,
        dense_rank() OVER (ORDER BY event_name, instruction_id, delegate_id, kind)
            AS key_id
    FROM named_event_signatures
),
quantiles AS (
    SELECT
        group_id, key_id,
        percentile_cont(0.1) WITHIN GROUP (ORDER BY duration_ns) AS p10_ns,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS p50_ns,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY duration_ns) AS p90_ns,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ns) AS p95_ns,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ns) AS p99_ns
    FROM (
        SELECT
            c.group_id, s.key_id,
            e.duration_ticks * CASE
                WHEN s.kind = 'delegate_op' THEN c.delegate_ns_per_tick
                ELSE c.ns_per_tick
            END AS duration_ns
        FROM events AS e
        JOIN chosen AS c ON c.dump_id = e.dump_id
        JOIN signatures AS s ON s.event_signature_id = e.event_signature_id
        WHERE e.flags <= 1
    ) AS samples
    GROUP BY group_id, key_id
),
totals AS (
    SELECT
        c.group_id, s.key_id,
        c.device, c.pool, c.build, c.model, c.backend, c.group_value,
        t.event_name, t.instruction_id, t.delegate_id, t.kind,
        CAST(sum(t.sample_count) AS BIGINT) AS sample_count,
        sum(t.sum_ns) / sum(t.sample_count) AS avg_ns,
        min(t.min_ns) AS min_ns,
        max(t.max_ns) AS max_ns
    FROM named_event_stats AS t
    JOIN chosen AS c ON c.dump_id = t.dump_id
    JOIN signatures AS s ON s.event_signature_id = t.event_signature_id
    WHERE t.sum_ns IS NOT NULL
    GROUP BY
        c.group_id, s.key_id,
        c.device, c.pool, c.build, c.model, c.backend, c.group_value,
        t.event_name, t.instruction_id, t.delegate_id, t.kind
)
SELECT
    t.device, t.pool, t.build, t.model, t.backend, t.group_value AS group,
    t.event_name, t.instruction_id, t.delegate_id, t.kind, t.sample_count,
    q.p10_ns, q.p50_ns, q.p90_ns, q.p95_ns, q.p99_ns, t.avg_ns, t.min_ns, t.max_ns
FROM totals AS t
JOIN quantiles AS q ON q.group_id = t.group_id AND q.key_id = t.key_id
ORDER BY
    t.device NULLS LAST, t.pool NULLS LAST, t.build, t.model, t.backend NULLS LAST,
    t.group_value NULLS LAST, t.instruction_id NULLS LAST, t.event_name,
    t.delegate_id NULLS LAST, t.kind
