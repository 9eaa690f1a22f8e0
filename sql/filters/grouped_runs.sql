-- grouped_runs: Complete runs of the chosen dumps, with the group of their rows.
--
-- A run is complete if it has a Method::execute and no flagged event.
--
-- filters: grouped_dumps
--
-- columns:
--   dump_id, place_id, device, pool, build, model, backend, group_value, ns_per_tick,
--   run_index, run_name, run_signature_id
--   nth             BIGINT  1 for the dump's first of this signature, then 2, ...
--   run_count       BIGINT  Complete runs of this signature in the dump.
--   execute_ticks   DOUBLE  Duration of Method::execute.
--   kernel_ticks    DOUBLE  Sum over its kernels, 0 without any.
--   delegate_ticks  DOUBLE  Sum over its delegate calls, 0 without any.
SELECT
    r.dump_id, d.place_id, d.device, d.pool, d.build, d.model, d.backend, d.group_value,
    d.ns_per_tick, r.run_index, r.run_name, r.run_signature_id, r.nth, r.run_count,
    r.execute_ticks, r.kernel_ticks, r.delegate_ticks
FROM (
    SELECT
        t.dump_id, t.run_index, g.name AS run_name, t.run_signature_id,
        t.execute_ticks, t.kernel_ticks, t.delegate_ticks,
        row_number() OVER alike_in_order AS nth, count(*) OVER alike AS run_count
    FROM run_totals AS t
    JOIN run_signatures AS g ON g.run_signature_id = t.run_signature_id
    WHERE t.dump_id IN (SELECT dump_id FROM grouped_dumps)
    WINDOW
        alike AS (PARTITION BY t.dump_id, t.run_signature_id),
        alike_in_order AS (
            PARTITION BY t.dump_id, t.run_signature_id ORDER BY t.run_index
        )
) AS r
JOIN grouped_dumps AS d ON d.dump_id = r.dump_id
