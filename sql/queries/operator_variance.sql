-- operator_variance: The operators that make slow runs slow.
--
-- The tail of an operator is its 99th percentile less its median, in one dump; figures
-- of a build are medians over its dumps. The shares of a build add up to 1: an operator
-- with a large share of the tail dominates the model's p99. Rows are kernels,
-- delegates' own operators, and delegate calls that log none; flagged events are left
-- out, warm-up is included. If a row has dumps in cycles of unknown rate, all its times
-- are null: untimed_count is their number. If all clocks of a build on a device are
-- such, shares are of cycles.
--
-- params:
--   event
--   top_n  INT(1..) = NULL  Only rows of at most this rank.
--
-- filters: grouped_dumps
--
-- parts: run_names
--
-- portions: device
--
-- columns:
--   device, pool, build, model, backend, group, run, event_name, instruction_id,
--   delegate_id
--   kind          STRING  kernel, delegate_call or delegate_op.
--   rank          INT     1 for the most tail of the build on the device, then 2, ...
--   dump_count    BIGINT  Dumps with the operator, at least 1.
--   sample_count  BIGINT  Events in them.
--   p50_ns        DOUBLE  Median, nanoseconds; null in cycles of unknown rate, like all
--                         that follow; lower is better.
--   p99_ns
--   tail_ns       DOUBLE  Tail.
--   p99_over_p50
--   tail_share    DOUBLE  Tail times events, over the sum for all operators, 0 to 1;
--                         null where clocks of known and of unknown rate are mixed.
--   untimed_count
WITH stats AS (
    SELECT
        g.place_id, g.device, g.pool, g.build, g.model, g.backend, g.group_value,
        x.dump_id, x.run_signature_id, r.run,
        s.event_name, s.instruction_id, s.delegate_id, s.kind, x.sample_count,
        x.p50_ticks * tick_ns(s, g) AS p50_ns, x.p99_ticks * tick_ns(s, g) AS p99_ns,
        x.p99_ticks - x.p50_ticks AS tail_ticks
    FROM event_stats AS x
    JOIN grouped_dumps AS g ON g.dump_id = x.dump_id
    JOIN run_names AS r
        ON r.dump_id = x.dump_id AND r.run_signature_id = x.run_signature_id
    JOIN named_event_signatures AS s ON s.event_signature_id = x.event_signature_id
    WHERE s.kind IN ('kernel', 'delegate_call', 'delegate_op')
        AND x.dump_id IN (SELECT dump_id FROM grouped_dumps)
),
operators AS (
    SELECT
        place_id, device, pool, build, model, backend, group_value,
        run, event_name, instruction_id, delegate_id, kind,
        count_different(dump_id) AS dump_count,
        CAST(sum(sample_count) AS BIGINT) AS sample_count,
        count(p50_ns) = count(*) AS is_timed,
        median(p50_ns) AS p50_ns, median(p99_ns) AS p99_ns,
        median(p99_ns - p50_ns) AS tail_ns,
        median(p99_ns / nullif(p50_ns, 0e0)) AS p99_over_p50,
        count(p50_ns) AS timed_count,
        whole_sum((p99_ns - p50_ns) * sample_count) AS tail_sum,
        exact_sum(tail_ticks * sample_count) AS tail_cycles,
        count_different(CASE WHEN p50_ns IS NULL THEN dump_id END) AS untimed_count
    FROM stats AS s
    WHERE kind <> 'delegate_call' OR NOT EXISTS (
        SELECT 1
        FROM stats AS o
        WHERE o.kind = 'delegate_op' AND o.dump_id = s.dump_id
            AND o.run_signature_id = s.run_signature_id
            AND o.instruction_id IS NOT DISTINCT FROM s.instruction_id
    )
    GROUP BY
        place_id, device, pool, build, model, backend, group_value,
        run, event_name, instruction_id, delegate_id, kind
),
wholes AS (
    SELECT
        place_id, sum(timed_count) = 0 AND max(device) IS NOT NULL AS is_of_cycles,
        whole_sum(tail_cycles) AS tail_cycles, whole_sum(tail_sum) AS tail_sum
    FROM operators
    GROUP BY place_id
),
weighed AS (
    SELECT
        o.*,
        CASE WHEN w.is_of_cycles THEN o.tail_cycles ELSE o.tail_sum END AS weight,
        CASE WHEN w.is_of_cycles THEN w.tail_cycles ELSE w.tail_sum END AS whole_weight
    FROM operators AS o
    JOIN wholes AS w ON w.place_id = o.place_id
),
ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY place_id
            ORDER BY
                round(weight, 6) DESC NULLS LAST, instruction_id NULLS LAST, event_name,
                delegate_id NULLS LAST, kind, run
        ) AS place
    FROM weighed
)
SELECT
    device, pool, build, model, backend, group_value AS group,
    run, event_name, instruction_id, delegate_id, kind, CAST(place AS INT) AS rank,
    dump_count, sample_count,
    CASE WHEN is_timed THEN p50_ns END AS p50_ns,
    CASE WHEN is_timed THEN p99_ns END AS p99_ns,
    CASE WHEN is_timed THEN tail_ns END AS tail_ns,
    CASE WHEN is_timed THEN p99_over_p50 END AS p99_over_p50,
    weight / nullif(whole_weight, 0e0) AS tail_share, untimed_count
FROM ranked
WHERE place <= coalesce(CAST(:top_n AS INT), place)
    AND is_chosen(:event, event_name)
ORDER BY place_id, rank
