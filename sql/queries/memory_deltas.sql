-- memory_deltas: Memory that runs allocate, in two builds: any change counts.
--
-- Bytes are exact: one dump is enough, and no test is needed. Models are compared on
-- devices that have dumps of both builds, with allocations in at least one. Dumps
-- without any allocation are left out: most runtimes do not log them. A run without
-- allocations of an allocator that other runs use took 0 bytes of it. Besides the row
-- of each allocator, there is a row for all together.
--
-- Verdicts: unknown (a build has no such runs in dumps that log allocations: its
-- columns are null), varies (the dumps of one build do not agree in the least and most
-- bytes of a run), changed (in these, or in how many allocations they were), unchanged.
--
-- filters: compared_dumps
--
-- parts: dump_allocations
--
-- portions: device
--
-- next: memory_by_instruction
--
-- columns:
--   device, model, backend, run_name
--   is_total          BOOLEAN  Whether the row is of all allocators together.
--   allocator         STRING   Allocator; null if it has no name, and if is_total.
--   base_run_count    BIGINT   Runs of the name in the base, in dumps that log
--                              allocations; null without any, like all of the base.
--   head_run_count    BIGINT   Runs of the name in the head; null likewise.
--   base_count        DOUBLE   Allocations of a run of the base, the mean over runs.
--   head_count        DOUBLE   Allocations of a run of the head, the mean over runs.
--   base_bytes        BIGINT   Bytes of the run of the base that allocates most.
--   head_bytes        BIGINT   Bytes of the run of the head that allocates most.
--   delta_bytes       BIGINT   head_bytes less base_bytes; lower is better.
--   delta             DOUBLE(change)  The same as a share of base_bytes; null if that
--                              is 0.
--   base_least_bytes  BIGINT   Bytes of the run of the base that allocates least.
--   head_least_bytes  BIGINT   Bytes of the run of the head that allocates least.
--   verdict
WITH sides AS (
    SELECT
        c.device, c.model, c.backend, a.run_name, a.is_total, a.allocator, c.is_head,
        CAST(sum(a.run_count) AS BIGINT) AS run_count,
        CAST(sum(a.allocation_count) AS BIGINT) AS allocation_count,
        min(a.least) AS least, max(a.most) AS most,
        min(a.least) < max(a.least) OR min(a.most) < max(a.most) AS is_varied
    FROM dump_allocations AS a
    JOIN compared_dumps AS c ON c.dump_id = a.dump_id
    GROUP BY
        c.device, c.model, c.backend, a.run_name, a.is_total, a.allocator, c.is_head
),
series AS (
    SELECT DISTINCT s.device, s.model, s.backend, s.run_name, s.is_total, s.allocator
    FROM sides AS s
    JOIN (
        SELECT device, model, backend
        FROM compared_dumps
        GROUP BY device, model, backend
        HAVING min(is_head) < max(is_head)
    ) AS f ON same_family(f, s)
)
SELECT
    s.device, s.model, s.backend, s.run_name, s.is_total, s.allocator,
    b.run_count AS base_run_count, h.run_count AS head_run_count,
    b.allocation_count / CAST(b.run_count AS DOUBLE) AS base_count,
    h.allocation_count / CAST(h.run_count AS DOUBLE) AS head_count,
    b.most AS base_bytes, h.most AS head_bytes, h.most - b.most AS delta_bytes,
    (h.most - b.most) / nullif(CAST(b.most AS DOUBLE), 0e0) AS delta,
    b.least AS base_least_bytes, h.least AS head_least_bytes,
    CASE
        WHEN b.device IS NULL OR h.device IS NULL THEN 'unknown'
        WHEN b.is_varied OR h.is_varied THEN 'varies'
        WHEN b.most <> h.most OR b.least <> h.least THEN 'changed'
        WHEN b.allocation_count * h.run_count <> h.allocation_count * b.run_count
            THEN 'changed'
        ELSE 'unchanged'
    END AS verdict
FROM series AS s
LEFT JOIN sides AS b
    ON b.is_head = 0 AND same_family(b, s) AND b.is_total = s.is_total
    AND b.run_name IS NOT DISTINCT FROM s.run_name
    AND b.allocator IS NOT DISTINCT FROM s.allocator
LEFT JOIN sides AS h
    ON h.is_head = 1 AND same_family(h, s) AND h.is_total = s.is_total
    AND h.run_name IS NOT DISTINCT FROM s.run_name
    AND h.allocator IS NOT DISTINCT FROM s.allocator
ORDER BY
    s.device, s.model, s.backend NULLS LAST, s.run_name NULLS LAST, s.is_total,
    s.allocator NULLS LAST
