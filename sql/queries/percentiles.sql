-- percentiles: Percentiles of every event's duration, over all dumps of a build.
--
-- Exact, by linear interpolation like numpy's default. With approx, within 1 % of that:
-- faster over many long dumps, and including dumps whose events are gone, for dumps of
-- 200 runs or more have histograms. Flagged events and events timed in cycles of
-- unknown rate never count. All events weigh the same: a long dump counts for more than
-- a short one.
--
-- params:
--   run, event
--   approx  BOOLEAN = false  Approximate percentiles, from histograms of dumps that
--                            have them.
--
-- filters: grouped_dumps
--
-- portions: device
--
-- next: operator_hotspots, stability
--
-- columns:
--   device, pool, build, model, backend, group, run
--   event_name     STRING  Name of the event, else its delegate id.
--   instruction_id, delegate_id, kind
--   sample_count   BIGINT  Events, at least 1.
--   p10_ns         DOUBLE  10th percentile in nanoseconds, null if all events are gone;
--                          lower is better, like all times that follow.
--   p50_ns         DOUBLE  Median.
--   p90_ns, p95_ns, p99_ns
--   avg_ns         DOUBLE  Mean, exact like all that follow.
--   min_ns         DOUBLE  Shortest.
--   max_ns         DOUBLE  Longest.
--   missing_count  BIGINT  Events that are gone, which no percentile counts.
--   error_share    DOUBLE  Largest relative error of a percentile: 0.01 with
--                          approx, else 0.
WITH signatures AS (
    -- Numbers for names: the events below are grouped and sorted by integers only.
    SELECT
        event_signature_id, event_name, instruction_id, delegate_id, kind,
        unit, unit_ns,
        dense_rank() OVER (ORDER BY event_name, instruction_id, delegate_id, kind)
            AS key_id
    FROM named_event_signatures
    WHERE is_chosen(:event, event_name)
),
chosen_runs AS (
    SELECT
        c.dump_id, c.device, c.pool, c.build, c.model, c.backend, c.group_value,
        c.ns_per_tick, c.delegate_ns_per_tick, r.run_signature_id, r.run,
        dense_rank() OVER (ORDER BY c.place_id, r.run) AS run_id
    FROM grouped_dumps AS c
    JOIN named_run_signatures AS r ON r.dump_id = c.dump_id
    WHERE is_chosen(:run, r.run)
),
-- What the events of a signature in a dump count for: one join tells this of an event.
samples AS (
    SELECT *, CAST(dense_rank() OVER (ORDER BY run_id, key_id) AS INT) AS row_id
    FROM (
        SELECT
            t.dump_id, t.run_signature_id, t.event_signature_id, r.run_id, s.key_id,
            t.sample_count, t.sum_ticks, t.min_ticks, t.max_ticks,
            tick_ns(s, r) AS tick_ns
        FROM event_stats AS t
        JOIN chosen_runs AS r
            ON r.dump_id = t.dump_id AND r.run_signature_id = t.run_signature_id
        JOIN signatures AS s ON s.event_signature_id = t.event_signature_id
        WHERE t.dump_id IN (SELECT dump_id FROM grouped_dumps)
    ) AS t
    WHERE tick_ns IS NOT NULL
),
buckets AS (
    SELECT
        x.row_id, sum(b.event_count) AS event_count,
        CASE WHEN b.bucket < 0 THEN 0e0 ELSE exp(b.bucket * ln(1.01e0 / 0.99e0)) END
            * 0.99e0 * x.tick_ns AS duration_ns
    FROM event_buckets AS b
    JOIN dumps AS d
        ON d.dump_id = b.dump_id
        AND d.dump_id IN (SELECT dump_id FROM grouped_dumps)
    JOIN samples AS x ON x.dump_id = b.dump_id AND same_event(x, b)
    WHERE CAST(:approx AS BOOLEAN)
    GROUP BY x.row_id, b.bucket, x.tick_ns
),
steps AS (
    SELECT
        row_id, duration_ns, event_count,
        sum(event_count) OVER (PARTITION BY row_id) AS total,
        sum(event_count) OVER (
            PARTITION BY row_id ORDER BY duration_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS reached
    FROM buckets
),
-- The two events that a percentile lies between: of n in order those at (n - 1) times
-- the percentage, counted from 0.
neighbours AS (
    SELECT
        s.row_id, p.percent, s.total,
        min(CASE
            WHEN s.reached * 100 > (s.total - 1) * p.percent THEN s.duration_ns
        END) AS below,
        min(CASE
            WHEN s.reached * 100 > (s.total - 1) * p.percent + 99 THEN s.duration_ns
        END) AS above
    FROM steps AS s
    CROSS JOIN (VALUES (10), (50), (90), (95), (99)) AS p (percent)
    GROUP BY s.row_id, p.percent, s.total
),
-- All five at once: the samples of a group are held once, not five times.
exact_quantiles AS (
    SELECT
        x.row_id, count(*) AS counted,
        percentile(
            e.duration_ticks * x.tick_ns, array(1e-1, 5e-1, 9e-1, 95e-2, 99e-2)
        ) AS shares
    FROM events AS e
    -- A join by one key alone has DuckDB leave out other dumps while it reads.
    JOIN dumps AS d
        ON d.dump_id = e.dump_id
        AND d.dump_id IN (SELECT dump_id FROM grouped_dumps)
    JOIN samples AS x ON x.dump_id = e.dump_id AND same_event(x, e)
    WHERE e.flags <= 1 AND NOT CAST(:approx AS BOOLEAN)
    GROUP BY x.row_id
),
quantiles AS (
    SELECT
        row_id, max(total) AS counted,
        max(CASE WHEN percent = 10 THEN value END) AS p10_ns,
        max(CASE WHEN percent = 50 THEN value END) AS p50_ns,
        max(CASE WHEN percent = 90 THEN value END) AS p90_ns,
        max(CASE WHEN percent = 95 THEN value END) AS p95_ns,
        max(CASE WHEN percent = 99 THEN value END) AS p99_ns
    FROM (
        SELECT
            *, below + (above - below) * ((total - 1) * percent % 100 / 100e0) AS value
        FROM neighbours
    ) AS n
    GROUP BY row_id
    UNION ALL
    SELECT
        row_id, counted,
        element_at(shares, 1) AS p10_ns,
        element_at(shares, 2) AS p50_ns,
        element_at(shares, 3) AS p90_ns,
        element_at(shares, 4) AS p95_ns,
        element_at(shares, 5) AS p99_ns
    FROM exact_quantiles
),
totals AS (
    SELECT
        row_id, run_id, key_id, CAST(sum(sample_count) AS BIGINT) AS sample_count,
        exact_sum(sum_ticks * tick_ns) / sum(sample_count) AS avg_ns,
        min(min_ticks * tick_ns) AS min_ns, max(max_ticks * tick_ns) AS max_ns
    FROM samples
    GROUP BY row_id, run_id, key_id
)
SELECT
    r.device, r.pool, r.build, r.model, r.backend, r.group_value AS group,
    r.run, s.event_name, s.instruction_id, s.delegate_id, s.kind, t.sample_count,
    q.p10_ns, q.p50_ns, q.p90_ns, q.p95_ns, q.p99_ns, t.avg_ns, t.min_ns, t.max_ns,
    CAST(t.sample_count - coalesce(q.counted, 0) AS BIGINT) AS missing_count,
    CASE WHEN CAST(:approx AS BOOLEAN) THEN 0.01e0 ELSE 0e0 END AS error_share
FROM totals AS t
JOIN (
    SELECT DISTINCT
        run_id, device, pool, build, model, backend, group_value, run
    FROM chosen_runs
) AS r ON r.run_id = t.run_id
JOIN (
    SELECT DISTINCT key_id, event_name, instruction_id, delegate_id, kind
    FROM signatures
) AS s ON s.key_id = t.key_id
LEFT JOIN quantiles AS q ON q.row_id = t.row_id
ORDER BY
    t.run_id, s.instruction_id NULLS LAST, s.event_name, s.delegate_id NULLS LAST,
    s.kind
