-- roofline: How close operators come to the device's peak performance.
--
-- Needs ETRecords: dumps without one are left out. Operations and bytes are those of
-- the nodes that an operator runs, by the shapes of their tensors: matrix products and
-- convolutions by their sizes; reductions, softmax and norms by the elements that they
-- read; pooling by its kernel; copies have none; other nodes have one operation per
-- element of the result. Bytes are those that each node reads and writes, even if a
-- delegate fuses several nodes. Each node counts once. If instructions share a debug
-- handle, a kernel runs a node of its own name, and a delegate call runs the other
-- nodes of its list and its events; if that does not decide, all instructions count for
-- an equal part of the nodes. Times are means over complete runs (with a
-- Method::execute and without a flagged event). Calls of delegates and the events
-- inside them have separate rows. Peaks are the tags peak_gflops and peak_gbps of the
-- manifest, at its top or in its device, unless they are given.
--
-- params:
--   event
--   peak_gflops  DOUBLE(0..) = NULL  Operations per nanosecond that the device can do.
--   peak_gbps    DOUBLE(0..) = NULL  Bytes per nanosecond that its memory can move.
--
-- filters: chosen_dumps
--
-- parts: run_names, program_nodes, run_steps, run_nodes, node_costs
--
-- portions: device
--
-- columns:
--   device, build, model, backend, run, event_name, instruction_id, delegate_id
--   kind        STRING  kernel, delegate_call or delegate_op.
--   method      STRING  Method of the program; null if it is unknown.
--   call_count  BIGINT  Calls, at least 1.
--   call_ns     DOUBLE  Mean time of a call, nanoseconds; null in cycles of unknown
--                       rate; lower is better.
--   flops       DOUBLE  Operations of a call; null if the ETRecord lacks them.
--   bytes       DOUBLE  Bytes that a call reads and writes; null likewise.
--   intensity   DOUBLE  Operations per byte.
--   gflops      DOUBLE  Operations per nanosecond; higher is better.
--   gbps        DOUBLE  Bytes per nanosecond; higher is better.
--   roof_ns     DOUBLE  Least time that the device's peaks allow for a call; null
--                       without both of them.
--   roof_share  DOUBLE  roof_ns over call_ns: 1 is as fast as can be; higher is better.
--   bound       STRING  compute or memory: which of the peaks is the limit.
WITH chosen AS (
    SELECT
        c.dump_id, c.device, c.build, c.model, c.backend, c.etrecord_id,
        coalesce(CAST(:peak_gflops AS DOUBLE), try_cast(coalesce(
            tag_of(c.tags, 'peak_gflops'), tag_of(c.tags, 'device.peak_gflops')
        ) AS DOUBLE)) AS peak_gflops,
        coalesce(CAST(:peak_gbps AS DOUBLE), try_cast(coalesce(
            tag_of(c.tags, 'peak_gbps'), tag_of(c.tags, 'device.peak_gbps')
        ) AS DOUBLE)) AS peak_gbps
    FROM chosen_dumps AS c
    WHERE c.etrecord_id IS NOT NULL
),
-- Where a run can be of several methods, what they all cost.
costs AS (
    SELECT
        etrecord_id, run_signature_id, event_signature_id,
        CASE WHEN min(method) = max(method) THEN min(method) END AS method,
        CASE WHEN count(flops) = count(*) AND min(flops) = max(flops) THEN min(flops)
        END AS flops,
        CASE WHEN count(bytes) = count(*) AND min(bytes) = max(bytes) THEN min(bytes)
        END AS bytes
    FROM (
        SELECT
            r.etrecord_id, r.run_signature_id, r.event_signature_id, r.method,
            whole_sum(c.flops * r.share) AS flops,
            whole_sum(c.bytes * r.share) AS bytes
        FROM run_nodes AS r
        JOIN node_costs AS c
            ON c.etrecord_id = r.etrecord_id AND c.method = r.method
            AND c.scope = r.scope AND c.node_index = r.node_index
            AND c.graph = 'edge_dialect_exported_program'
        GROUP BY r.etrecord_id, r.run_signature_id, r.event_signature_id, r.method
    ) AS m
    GROUP BY etrecord_id, run_signature_id, event_signature_id
),
operators AS (
    SELECT
        c.device, c.build, c.model, c.backend, n.run, t.event_name, t.instruction_id,
        t.delegate_id, t.kind, k.method, k.flops, k.bytes,
        c.peak_gflops, c.peak_gbps, CAST(sum(t.event_count) AS BIGINT) AS call_count,
        whole_sum(t.total_ns) / sum(t.event_count) AS call_ns
    FROM complete_run_totals AS t
    JOIN chosen AS c ON c.dump_id = t.dump_id
    JOIN run_names AS n
        ON n.dump_id = t.dump_id AND n.run_signature_id = t.run_signature_id
    LEFT JOIN costs AS k ON k.etrecord_id = c.etrecord_id AND same_event(k, t)
    WHERE t.kind IN ('kernel', 'delegate_call', 'delegate_op')
    GROUP BY
        c.device, c.build, c.model, c.backend, n.run, t.event_name, t.instruction_id,
        t.delegate_id, t.kind, k.method, k.flops, k.bytes, c.peak_gflops, c.peak_gbps
)
SELECT
    device, build, model, backend, run, event_name, instruction_id, delegate_id, kind,
    method, call_count, call_ns, flops, bytes,
    flops / nullif(bytes, 0e0) AS intensity,
    flops / nullif(call_ns, 0e0) AS gflops, bytes / nullif(call_ns, 0e0) AS gbps,
    CASE
        WHEN compute_ns >= memory_ns THEN compute_ns
        WHEN compute_ns < memory_ns THEN memory_ns
    END AS roof_ns,
    CASE
        WHEN compute_ns >= memory_ns THEN compute_ns
        WHEN compute_ns < memory_ns THEN memory_ns
    END / nullif(call_ns, 0e0) AS roof_share,
    CASE
        WHEN compute_ns >= memory_ns THEN 'compute'
        WHEN compute_ns < memory_ns THEN 'memory'
    END AS bound
FROM (
    SELECT
        *, flops / nullif(peak_gflops, 0e0) AS compute_ns,
        bytes / nullif(peak_gbps, 0e0) AS memory_ns
    FROM operators
) AS o
WHERE is_chosen(:event, event_name)
ORDER BY
    device, build, model, backend NULLS LAST, method NULLS LAST, run,
    instruction_id NULLS LAST, event_name, delegate_id NULLS LAST, kind,
    flops NULLS LAST, bytes NULLS LAST, peak_gflops NULLS LAST, peak_gbps NULLS LAST
