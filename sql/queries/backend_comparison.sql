-- backend_comparison: One model on two backends, module by module.
--
-- Two backends split a program into different operators, so they are compared by
-- module. Needs ETRecords: dumps without one are left out. Models of the same name are
-- compared on the same device in the same build, in complete runs (with a
-- Method::execute and without a flagged event). A module is compared if it can be timed
-- on both backends: if no event that counts for it also runs nodes outside it. A module
-- is marked as the lowest one if no module inside it can be compared.
--
-- params:
--   base_backend  STRING OF models.backend  Backend to compare with.
--   head_backend  STRING(<>base_backend) OF models.backend  Backend to judge.
--
-- filters: chosen_dumps without backend
--
-- parts: run_names, run_sums
--
-- portions: device
--
-- next: operator_hotspots, numeric_divergence
--
-- columns:
--   device, build, model, run
--   module_path     STRING   The module; '' is the whole program.
--   module_type
--   is_lowest       BOOLEAN  Whether no module inside it is compared.
--   base_run_count  BIGINT   Complete runs on the base backend.
--   head_run_count  BIGINT   Complete runs on the head backend.
--   base_ns         DOUBLE   Time in the module per run on the base backend,
--                            nanoseconds; null in cycles of unknown rate.
--   head_ns         DOUBLE   The same on the head backend; lower is better.
--   delta_ns        DOUBLE   head_ns less base_ns.
--   speedup         DOUBLE   base_ns over head_ns; higher is better.
--   base_share      DOUBLE   base_ns over Method::execute, 0 to 1.
--   head_share      DOUBLE   head_ns over Method::execute, 0 to 1.
WITH chosen AS (
    SELECT
        c.dump_id, c.device, c.build, c.model, d.etrecord_id,
        CASE WHEN c.backend = CAST(:head_backend AS STRING) THEN 1 ELSE 0 END AS is_head
    FROM chosen_dumps AS c
    JOIN dumps AS d ON d.dump_id = c.dump_id
    WHERE c.backend IN (CAST(:base_backend AS STRING), CAST(:head_backend AS STRING))
        AND d.etrecord_id IS NOT NULL
),
-- Modules that some event counts for which runs nodes outside of them too.
straddled AS (
    SELECT DISTINCT t.etrecord_id, t.module_path
    FROM event_modules AS t
    JOIN event_modules AS o ON o.etrecord_id = t.etrecord_id AND same_event(o, t)
    WHERE t.is_total AND o.is_own AND t.module_path <> ''
        AND o.module_path <> t.module_path
        AND substr(o.module_path, 1, length(t.module_path) + 1)
            <> t.module_path || '.'
        AND t.etrecord_id IN (SELECT etrecord_id FROM chosen)
),
runs_of_side AS (
    SELECT
        c.device, c.build, c.model, s.run, c.is_head,
        CAST(sum(s.run_count) AS BIGINT) AS run_count,
        whole_sum(s.execute_ns) AS execute_ns
    FROM run_sums AS s
    JOIN chosen AS c ON c.dump_id = s.dump_id
    GROUP BY c.device, c.build, c.model, s.run, c.is_head
),
times AS (
    SELECT
        c.device, c.build, c.model, n.run, c.is_head, m.module_path,
        max(m.module_type) AS module_type, count(s.module_path) AS straddled_count,
        whole_sum(t.total_ns) AS total_ns
    FROM complete_run_totals AS t
    JOIN chosen AS c ON c.dump_id = t.dump_id
    JOIN run_names AS n
        ON n.dump_id = t.dump_id AND n.run_signature_id = t.run_signature_id
    JOIN event_modules AS m ON m.etrecord_id = c.etrecord_id AND same_event(m, t)
    LEFT JOIN straddled AS s
        ON s.etrecord_id = m.etrecord_id AND s.module_path = m.module_path
    WHERE m.is_total
    GROUP BY c.device, c.build, c.model, n.run, c.is_head, m.module_path
),
sides AS (
    SELECT
        t.device, t.build, t.model, t.run, t.is_head, t.module_path, t.module_type,
        r.run_count, t.total_ns / r.run_count AS run_ns,
        t.total_ns / nullif(r.execute_ns, 0e0) AS time_share
    FROM times AS t
    JOIN runs_of_side AS r
        ON r.device = t.device AND r.build = t.build AND r.model = t.model
        AND r.run = t.run AND r.is_head = t.is_head
    WHERE t.straddled_count = 0
),
-- In order of their paths, the contents of a module come right after it.
compared AS (
    SELECT
        b.device, b.build, b.model, b.run, b.module_path,
        coalesce(b.module_type, h.module_type) AS module_type,
        b.run_count AS base_run_count, h.run_count AS head_run_count,
        b.run_ns AS base_ns, h.run_ns AS head_ns,
        b.time_share AS base_share, h.time_share AS head_share,
        lead(b.module_path) OVER (
            PARTITION BY b.device, b.build, b.model, b.run ORDER BY b.module_path
        ) AS next_path
    FROM sides AS b
    JOIN sides AS h
        ON h.device = b.device AND h.build = b.build AND h.model = b.model
        AND h.run = b.run AND h.module_path = b.module_path
    WHERE b.is_head = 0 AND h.is_head = 1
)
SELECT
    device, build, model, run, module_path, module_type,
    CASE
        WHEN next_path IS NULL THEN TRUE
        WHEN module_path = '' THEN FALSE
        ELSE substr(next_path, 1, length(module_path) + 1) <> module_path || '.'
    END AS is_lowest,
    base_run_count, head_run_count, base_ns, head_ns, head_ns - base_ns AS delta_ns,
    base_ns / nullif(head_ns, 0e0) AS speedup, base_share, head_share
FROM compared
ORDER BY device, build, model, run, module_path
