-- layer_hotspots: Time by layer of the model and line of its source.
--
-- Needs ETRecords: dumps without one are left out. Kernels and delegates of complete
-- runs (with a Method::execute and without a flagged event) count for the innermost
-- modules of their nodes, as in module_totals with scope own. The line is the innermost
-- one of the nodes' stack traces, usually in the module's class. An event that runs
-- nodes of several modules or lines counts in full for each; alone_ns leaves such
-- events out. Runs of all methods are taken together, for methods share modules: times
-- are means over all runs.
--
-- params:
--   top_n  INT(1..) = NULL  Only this many rows per build on a device, by time.
--
-- filters: grouped_dumps
--
-- parts: places
--
-- portions: device
--
-- next: module_totals, operator_hotspots
--
-- columns:
--   device, pool, build, model, backend, group
--   module_path  STRING  The module; '' is the program itself.
--   module_type  STRING  Its class; null if unknown.
--   source_line  STRING  File and line, e.g. /src/net.py:42; null without a stack
--                        trace.
--   rank         INT     1 for the most time of the build on the device, then 2, ...
--   run_count    BIGINT  Complete runs of dumps with an ETRecord.
--   event_count  BIGINT  Events counted, at least 1.
--   run_ns       DOUBLE  Time per run, nanoseconds; null in cycles of unknown rate;
--                        lower is better.
--   alone_ns     DOUBLE  The part of it in events that run nothing else, null likewise.
--   time_share   DOUBLE  Time over Method::execute, 0 to 1.
WITH lines AS (
    -- The lines of an event's nodes, by innermost module.
    SELECT DISTINCT
        o.etrecord_id, o.run_signature_id, o.event_signature_id,
        coalesce(n.module_path, '') AS module_path,
        split_part(n.frame, '"', 1) || ':'
            || split_part(split_part(n.frame, ', line ', 2), ',', 1) AS source_line
    FROM event_origins AS o
    JOIN (
        SELECT
            etrecord_id, method, debug_handle, module_path,
            split_part(stack_trace, 'File "', -1) AS frame
        FROM graph_nodes
        WHERE stack_trace IS NOT NULL AND op = 'call_function'
            AND graph = 'edge_dialect_exported_program'
            AND etrecord_id IN (SELECT etrecord_id FROM grouped_dumps)
    ) AS n
        ON n.etrecord_id = o.etrecord_id
        AND n.method = coalesce(o.method, n.method)
        AND array_contains(o.debug_handles, n.debug_handle)
),
placed AS (
    SELECT
        d.place_id, m.module_path, m.module_type, l.source_line,
        t.event_count, t.total_ns,
        count(*) OVER (
            PARTITION BY
                t.dump_id, t.run_signature_id, t.event_signature_id, t.chain_index
        ) AS place_count
    FROM complete_run_totals AS t
    JOIN grouped_dumps AS d ON d.dump_id = t.dump_id
    JOIN event_modules AS m ON m.etrecord_id = d.etrecord_id AND same_event(m, t)
    LEFT JOIN lines AS l
        ON l.etrecord_id = m.etrecord_id AND same_event(l, m)
        AND l.module_path = m.module_path
    WHERE m.is_own
),
times AS (
    SELECT
        place_id, module_path, max(module_type) AS module_type, source_line,
        CAST(sum(event_count) AS BIGINT) AS event_count,
        whole_sum(total_ns) AS total_ns,
        CASE
            WHEN count(total_ns) = count(*)
            THEN whole_sum(CASE WHEN place_count = 1 THEN total_ns ELSE 0e0 END)
        END AS alone_ns
    FROM placed
    GROUP BY place_id, module_path, source_line
),
ranked AS (
    SELECT
        *, CAST(row_number() OVER (
            PARTITION BY place_id
            ORDER BY total_ns DESC NULLS LAST, module_path, source_line NULLS LAST
        ) AS INT) AS rank
    FROM times
)
SELECT
    p.device, p.pool, p.build, p.model, p.backend, p.group_value AS group,
    r.module_path, r.module_type, r.source_line, r.rank,
    p.recorded_run_count AS run_count, r.event_count,
    r.total_ns / p.recorded_run_count AS run_ns,
    r.alone_ns / p.recorded_run_count AS alone_ns,
    part_of(r.total_ns, p.recorded_execute_ns) AS time_share
FROM ranked AS r
JOIN places AS p ON p.place_id = r.place_id
WHERE r.rank <= coalesce(CAST(:top_n AS INT), r.rank)
ORDER BY p.place_id, r.rank
