-- cold_start: The cost of the first answer: loading, and the first execution.
--
-- The methods of a program add up: as many kinds of runs count as methods were loaded,
-- at least one, in the order of their first runs. Of each kind, the first complete run
-- counts. Its steady time is that of runs with the same run signature, from the sixth
-- on, if at least 5 are left. Each figure is the median over the dumps that have it.
--
-- filters: grouped_dumps
--
-- parts: loads, first_runs
--
-- portions: device
--
-- next: warmup
--
-- columns:
--   device, pool, build, model, backend, group
--   dump_count         BIGINT  Dumps with a load or a complete run.
--   load_count         BIGINT  Loads of a method in them.
--   load_ns            DOUBLE  Program::load_method, nanoseconds; null without any and
--                              in cycles of unknown rate; lower is better, like all
--                              that follow.
--   init_ns            DOUBLE  Method::init, part of the load.
--   first_ns           DOUBLE  First complete run of each method: Method::execute.
--   steady_ns          DOUBLE  Steady runs of each method: theirs.
--   cold_ns            DOUBLE  load_ns (init_ns where only that is logged) and first_ns
--                              together.
--   first_over_steady  DOUBLE  First runs over steady ones, in cycles of unknown rate
--                              too.
WITH ordered AS (
    SELECT
        t.dump_id, t.execute_ticks, t.run_signature_id,
        row_number() OVER (
            PARTITION BY t.dump_id, t.run_signature_id ORDER BY t.run_index
        ) AS nth
    FROM run_totals AS t
    WHERE t.dump_id IN (SELECT dump_id FROM grouped_dumps)
),
-- Those after warm-up that are like the first run of a kind.
kinds AS (
    SELECT
        f.dump_id, f.execute_ticks AS first_ticks,
        CASE WHEN count(o.nth) >= 5 THEN median(o.execute_ticks) END AS steady_ticks
    FROM first_runs AS f
    LEFT JOIN ordered AS o
        ON o.dump_id = f.dump_id AND o.run_signature_id = f.run_signature_id
        AND o.nth > 5
    GROUP BY f.dump_id, f.run_signature_id, f.execute_ticks
),
executions AS (
    SELECT
        dump_id, sum(first_ticks) AS first_ticks,
        whole_sum(steady_ticks) AS steady_ticks
    FROM kinds
    GROUP BY dump_id
),
starts AS (
    SELECT
        g.device, g.pool, g.build, g.model, g.backend, g.group_value,
        l.load_count, l.load_ns, l.init_ns,
        e.first_ticks * g.ns_per_tick AS first_ns,
        e.steady_ticks * g.ns_per_tick AS steady_ns,
        e.first_ticks / nullif(e.steady_ticks, 0e0) AS first_over_steady
    FROM grouped_dumps AS g
    LEFT JOIN loads AS l ON l.dump_id = g.dump_id
    LEFT JOIN executions AS e ON e.dump_id = g.dump_id
    WHERE l.dump_id IS NOT NULL OR e.dump_id IS NOT NULL
)
SELECT
    device, pool, build, model, backend, group_value AS group,
    count(*) AS dump_count,
    CAST(sum(coalesce(load_count, 0)) AS BIGINT) AS load_count,
    median(load_ns) AS load_ns, median(init_ns) AS init_ns,
    median(first_ns) AS first_ns, median(steady_ns) AS steady_ns,
    median(coalesce(load_ns, init_ns) + first_ns) AS cold_ns,
    median(first_over_steady) AS first_over_steady
FROM starts
GROUP BY device, pool, build, model, backend, group_value
ORDER BY
    device NULLS LAST, pool NULLS LAST, build, model, backend NULLS LAST,
    group_value NULLS LAST
