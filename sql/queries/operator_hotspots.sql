-- operator_hotspots: Time of Method::execute by operator.
--
-- Only complete runs count (with a Method::execute and without a flagged event). Self
-- time leaves out the time of what a row calls: that of a delegate call is its time
-- less the delegate's own operators, that of Method::execute is the framework tax. The
-- self times of a build add up to Method::execute, so self_share adds up to 1.
-- OPERATOR_CALL is left out, for it contains its kernel and a part of the tax. Loads,
-- control flow and events of unknown kind are left out too.
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
-- next: build_history, layer_hotspots, roofline
--
-- columns:
--   device, pool, build, model, backend, group, run, event_name, instruction_id,
--   delegate_id
--   kind        STRING  method, kernel, delegate_call or delegate_op.
--   rank        INT     1 for the most self time of the build on the device, then 2,
--                       ...
--   call_count  BIGINT  Calls, at least 1.
--   total_ns    DOUBLE  Summed time, nanoseconds; null in cycles of unknown rate, like
--                       all that follow; lower is better.
--   self_ns     DOUBLE  Summed time without that of called events; null where that is
--                       longer, as a delegate's clock disagrees.
--   mean_ns     DOUBLE  total_ns per call.
--   time_share  DOUBLE  total_ns over Method::execute's, 0 to 1; null for operators of
--                       a delegate that take longer than its call.
--   self_share  DOUBLE  self_ns over total_ns of Method::execute, likewise.
--   untimed_count
WITH totals AS (
    SELECT
        c.place_id, c.device, c.pool, c.build, c.model, c.backend, c.group_value, n.run,
        t.event_name, t.instruction_id, t.delegate_id, t.kind,
        CAST(sum(t.event_count) AS BIGINT) AS call_count,
        whole_sum(t.total_ns) AS total_ns,
        count_different(CASE WHEN t.total_ns IS NULL THEN t.dump_id END)
            AS untimed_count
    FROM complete_run_totals AS t
    JOIN grouped_dumps AS c ON c.dump_id = t.dump_id
    JOIN run_names AS n
        ON n.dump_id = t.dump_id AND n.run_signature_id = t.run_signature_id
    WHERE t.kind IN ('method', 'kernel', 'delegate_call', 'delegate_op')
    GROUP BY
        c.place_id, c.device, c.pool, c.build, c.model, c.backend, c.group_value, n.run,
        t.event_name, t.instruction_id, t.delegate_id, t.kind
),
methods AS (
    SELECT place_id, whole_sum(total_ns) AS method_ns
    FROM totals
    WHERE kind = 'method'
    GROUP BY place_id
),
calls AS (
    SELECT place_id, run, exact_sum(total_ns) AS called_ns
    FROM totals
    WHERE kind IN ('kernel', 'delegate_call')
    GROUP BY place_id, run
),
delegates AS (
    SELECT
        place_id, run, instruction_id,
        whole_sum(CASE WHEN kind = 'delegate_op' THEN total_ns ELSE 0e0 END) AS op_ns,
        exact_sum(CASE WHEN kind = 'delegate_call' THEN total_ns END) AS call_ns
    FROM totals
    WHERE kind IN ('delegate_call', 'delegate_op')
    GROUP BY place_id, run, instruction_id
),
selves AS (
    SELECT
        t.*,
        CASE t.kind
            WHEN 'method' THEN CASE
                WHEN coalesce(c.called_ns, 0e0) <= t.total_ns
                    THEN t.total_ns - coalesce(c.called_ns, 0e0)
            END
            WHEN 'delegate_call'
                THEN CASE WHEN d.op_ns <= t.total_ns THEN t.total_ns - d.op_ns END
            ELSE t.total_ns
        END AS self_ns,
        CASE
            WHEN t.kind = 'delegate_op' AND d.op_ns > d.call_ns
                OR t.total_ns > m.method_ns THEN NULL
            ELSE nullif(m.method_ns, 0e0)
        END AS of_ns
    FROM totals AS t
    LEFT JOIN methods AS m ON m.place_id = t.place_id
    LEFT JOIN calls AS c ON c.place_id = t.place_id AND c.run = t.run
    LEFT JOIN delegates AS d
        ON d.place_id = t.place_id AND d.run = t.run
        AND d.instruction_id IS NOT DISTINCT FROM t.instruction_id
),
ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY place_id
            ORDER BY
                self_ns DESC NULLS LAST, instruction_id NULLS LAST, event_name,
                delegate_id NULLS LAST, kind, run
        ) AS rank
    FROM selves
)
SELECT
    device, pool, build, model, backend, group_value AS group,
    run, event_name, instruction_id, delegate_id, kind, CAST(rank AS INT) AS rank,
    call_count, total_ns, self_ns,
    total_ns / call_count AS mean_ns,
    total_ns / of_ns AS time_share,
    self_ns / of_ns AS self_share, untimed_count
FROM ranked
WHERE rank <= coalesce(CAST(:top_n AS INT), rank)
    AND is_chosen(:event, event_name)
ORDER BY place_id, rank
