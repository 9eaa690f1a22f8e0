-- outlier_runs: Slow runs, and the cause in each.
--
-- Complete runs (with a Method::execute and without a flagged event) after warm-up
-- (from the sixth of their run signature in the dump on) have a row if at least 20 are
-- left and they exceed their median by min_excess of it or more. The excess is split
-- into that of kernels, of delegate calls, and of the framework. The culprit is the
-- event that most exceeds its own median in the dump, without the events that it calls;
-- it is null if the events are gone, or none is longer than usual.
--
-- params:
--   min_excess  SHARE(0..) = 0.5  Least excess over the median, as a share of it.
--
-- filters: grouped_runs
--
-- portions: device
--
-- next: run_timeline, stability
--
-- columns:
--   device, pool, build, model, backend, group
--   dump_id             BIGINT  Dump of the run.
--   run_index, run_name
--   excess              DOUBLE(change)  Time over the median, less 1; null if the
--                               median is 0; lower is better.
--   execute_ns          DOUBLE  Method::execute, nanoseconds; null in cycles of unknown
--                               rate, like all that end in _ns.
--   p50_ns              DOUBLE  Median of the dump's runs like it.
--   kernel_excess_ns    DOUBLE  Time in kernels, less its median.
--   delegate_excess_ns  DOUBLE  Time in delegate calls, less its median.
--   tax_excess_ns       DOUBLE  Time outside both, less its median.
--   culprit             STRING  Name of the culprit, else its delegate id;
--                               Method::execute is the framework itself.
--   instruction_id      INT     Its instruction; null outside the program.
--   delegate_id
--   culprit_excess_ns   DOUBLE  Its time, less its median.
--   culprit_share       DOUBLE  Its excess over the run's: above 1 if other events made
--                               up for it.
WITH medians AS (
    SELECT
        dump_id, run_signature_id, median(execute_ticks) AS execute_p50,
        median(kernel_ticks) AS kernel_p50, median(delegate_ticks) AS delegate_p50,
        median(execute_ticks - kernel_ticks - delegate_ticks) AS tax_p50
    FROM grouped_runs
    WHERE nth > 5 AND run_count >= 25
    GROUP BY dump_id, run_signature_id
),
slow AS (
    SELECT
        r.*, m.execute_p50, m.kernel_p50, m.delegate_p50,
        (r.execute_ticks - m.execute_p50) / nullif(m.execute_p50, 0e0) AS excess,
        r.execute_ticks - r.kernel_ticks - r.delegate_ticks - m.tax_p50 AS tax_excess
    FROM grouped_runs AS r
    JOIN medians AS m
        ON m.dump_id = r.dump_id AND m.run_signature_id = r.run_signature_id
    WHERE r.nth > 5
        AND r.execute_ticks > m.execute_p50
        AND reaches(
            r.execute_ticks, (1 + CAST(:min_excess AS DOUBLE)) * m.execute_p50
        )
),
-- Added up before the joins: few of all events are in slow runs.
spent AS (
    SELECT
        e.dump_id, e.run_index, e.run_signature_id, e.event_signature_id,
        count(*) AS event_count,
        sum(e.duration_ticks) AS total_ticks
    FROM events AS e
    WHERE e.dump_id IN (SELECT dump_id FROM slow)
        AND (e.dump_id, e.run_index) IN (SELECT dump_id, run_index FROM slow)
    GROUP BY e.dump_id, e.run_index, e.run_signature_id, e.event_signature_id
),
-- How far each event of a slow run is from its median, in ticks of the run's clock.
excesses AS (
    SELECT
        e.dump_id, e.run_index, e.event_signature_id, s.instruction_id, s.kind,
        (e.total_ticks - e.event_count * t.p50_ticks) * CASE
            WHEN s.unit IS NOT NULL THEN s.unit_ns / d.ns_per_tick
            WHEN s.kind = 'delegate_op' THEN d.delegate_ns_per_tick / d.ns_per_tick
            ELSE 1e0
        END AS excess
    FROM spent AS e
    JOIN named_event_signatures AS s ON s.event_signature_id = e.event_signature_id
    JOIN event_stats AS t ON t.dump_id = e.dump_id AND same_event(t, e)
    JOIN dumps AS d ON d.dump_id = e.dump_id
    WHERE s.kind IN ('kernel', 'delegate_call', 'delegate_op')
),
-- A call is to blame for what its delegate's operators do not explain.
explained AS (
    SELECT dump_id, run_index, instruction_id, exact_sum(excess) AS excess
    FROM excesses
    WHERE kind = 'delegate_op'
    GROUP BY dump_id, run_index, instruction_id
),
blamed AS (
    SELECT
        e.dump_id, e.run_index, e.event_signature_id, e.instruction_id,
        CASE
            WHEN e.kind = 'delegate_call' THEN e.excess - coalesce(x.excess, 0e0)
            ELSE e.excess
        END AS own_excess
    FROM excesses AS e
    LEFT JOIN explained AS x
        ON x.dump_id = e.dump_id AND x.run_index = e.run_index
        AND x.instruction_id = e.instruction_id
    UNION ALL
    SELECT
        dump_id, run_index, CAST(NULL AS BIGINT), CAST(NULL AS INT), tax_excess
    FROM slow
    WHERE (dump_id, run_index) IN (SELECT dump_id, run_index FROM spent)
),
culprits AS (
    SELECT
        *, row_number() OVER (
            PARTITION BY dump_id, run_index
            ORDER BY
                own_excess DESC, instruction_id NULLS LAST,
                event_signature_id NULLS LAST
        ) AS place
    FROM blamed
    WHERE own_excess > 0
)
SELECT
    r.device, r.pool, r.build, r.model, r.backend, r.group_value AS group,
    CAST(r.dump_id AS BIGINT) AS dump_id, r.run_index, r.run_name, r.excess,
    r.execute_ticks * r.ns_per_tick AS execute_ns,
    r.execute_p50 * r.ns_per_tick AS p50_ns,
    (r.kernel_ticks - r.kernel_p50) * r.ns_per_tick AS kernel_excess_ns,
    (r.delegate_ticks - r.delegate_p50) * r.ns_per_tick AS delegate_excess_ns,
    r.tax_excess * r.ns_per_tick AS tax_excess_ns,
    CASE
        WHEN c.own_excess > 0 THEN coalesce(s.event_name, 'Method::execute')
    END AS culprit,
    c.instruction_id, s.delegate_id,
    c.own_excess * r.ns_per_tick AS culprit_excess_ns,
    c.own_excess / nullif(r.execute_ticks - r.execute_p50, 0e0) AS culprit_share
FROM slow AS r
LEFT JOIN culprits AS c
    ON c.dump_id = r.dump_id AND c.run_index = r.run_index AND c.place = 1
LEFT JOIN named_event_signatures AS s ON s.event_signature_id = c.event_signature_id
ORDER BY
    r.device NULLS LAST, r.pool NULLS LAST, r.build, r.model, r.backend NULLS LAST,
    r.group_value NULLS LAST, 0 - r.excess NULLS LAST,
    r.execute_ticks DESC NULLS LAST, r.dump_id, r.run_index
