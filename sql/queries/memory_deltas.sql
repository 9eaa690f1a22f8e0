-- memory_deltas: Memory that runs allocate, in two builds: any change counts.
--
-- Bytes are exact: one dump is enough, and no test is needed. Models are compared on
-- devices that have dumps of both builds, with allocations in at least one. A run
-- without allocations of an allocator that other runs use took 0 bytes of it. Besides
-- the row of each allocator, there is a row for all together.
--
-- Verdicts: varies (the dumps of one build do not agree in the least and most bytes of
-- a run), changed (in these, or in how many allocations they were), unchanged.
--
-- filters: compared_dumps
--
-- portions: device
--
-- next: memory_by_instruction
--
-- columns:
--   device, model, backend, run_name
--   is_total          BOOLEAN  Whether the row is of all allocators together.
--   allocator         STRING   Allocator; null if it has no name, and if is_total.
--   base_run_count    BIGINT   Runs of the name in the base.
--   head_run_count    BIGINT   Runs of the name in the head.
--   base_count        DOUBLE   Allocations of a run of the base, the mean over runs.
--   head_count        DOUBLE   Allocations of a run of the head, the mean over runs.
--   base_bytes        BIGINT   Bytes of the run of the base that allocates most.
--   head_bytes        BIGINT   Bytes of the run of the head that allocates most.
--   delta_bytes       BIGINT   head_bytes less base_bytes; lower is better.
--   delta             DOUBLE   The same as a share of base_bytes; null if that is 0.
--   base_least_bytes  BIGINT   Bytes of the run of the base that allocates least.
--   head_least_bytes  BIGINT   Bytes of the run of the head that allocates least.
--   verdict
WITH logged AS (
    SELECT
        c.device, c.model, c.backend, a.dump_id, a.run_name, a.allocator,
        FALSE AS is_total, a.allocation_count, a.total_bytes
    FROM run_allocations AS a
    JOIN compared_dumps AS c ON c.dump_id = a.dump_id
    UNION ALL
    SELECT
        c.device, c.model, c.backend, a.dump_id, r.name AS run_name,
        CAST(NULL AS STRING) AS allocator, TRUE AS is_total,
        count(*) AS allocation_count,
        CAST(least(sum(a.bytes), 9223372036854775807) AS BIGINT) AS total_bytes
    FROM allocations AS a
    JOIN compared_dumps AS c ON c.dump_id = a.dump_id
    JOIN runs AS r ON r.dump_id = a.dump_id AND r.run_index = a.run_index
    GROUP BY c.device, c.model, c.backend, a.dump_id, r.name, a.run_index
),
named_runs AS (
    SELECT
        c.device, c.model, c.backend, c.is_head, c.dump_id, r.name AS run_name,
        count(*) AS run_count
    FROM runs AS r
    JOIN compared_dumps AS c ON c.dump_id = r.dump_id
    GROUP BY c.device, c.model, c.backend, c.is_head, c.dump_id, r.name
),
-- Each dump with each allocator that any dump of either build logs.
of_dumps AS (
    SELECT
        k.device, k.model, k.backend, k.run_name, k.is_total, k.allocator,
        r.is_head, r.run_count, coalesce(l.allocation_count, 0) AS allocation_count,
        coalesce(l.most, 0) AS most,
        CASE WHEN l.logged_count = r.run_count THEN l.least ELSE 0 END AS least
    FROM (
        SELECT DISTINCT device, model, backend, run_name, is_total, allocator
        FROM logged
    ) AS k
    JOIN named_runs AS r
        ON same_family(r, k) AND r.run_name IS NOT DISTINCT FROM k.run_name
    LEFT JOIN (
        SELECT
            dump_id, run_name, is_total, allocator, count(*) AS logged_count,
            sum(allocation_count) AS allocation_count,
            min(total_bytes) AS least, max(total_bytes) AS most
        FROM logged
        GROUP BY dump_id, run_name, is_total, allocator
    ) AS l
        ON l.dump_id = r.dump_id AND l.is_total = k.is_total
        AND l.run_name IS NOT DISTINCT FROM k.run_name
        AND l.allocator IS NOT DISTINCT FROM k.allocator
),
sides AS (
    SELECT
        device, model, backend, run_name, is_total, allocator, is_head,
        CAST(sum(run_count) AS BIGINT) AS run_count,
        CAST(sum(allocation_count) AS BIGINT) AS allocation_count,
        min(least) AS least, max(most) AS most,
        min(least) < max(least) OR min(most) < max(most) AS is_varied
    FROM of_dumps
    GROUP BY device, model, backend, run_name, is_total, allocator, is_head
)
SELECT
    b.device, b.model, b.backend, b.run_name, b.is_total, b.allocator,
    b.run_count AS base_run_count, h.run_count AS head_run_count,
    b.allocation_count / CAST(b.run_count AS DOUBLE) AS base_count,
    h.allocation_count / CAST(h.run_count AS DOUBLE) AS head_count,
    b.most AS base_bytes, h.most AS head_bytes, h.most - b.most AS delta_bytes,
    (h.most - b.most) / nullif(CAST(b.most AS DOUBLE), 0e0) AS delta,
    b.least AS base_least_bytes, h.least AS head_least_bytes,
    CASE
        WHEN b.is_varied OR h.is_varied THEN 'varies'
        WHEN b.most <> h.most OR b.least <> h.least THEN 'changed'
        WHEN b.allocation_count * h.run_count <> h.allocation_count * b.run_count
            THEN 'changed'
        ELSE 'unchanged'
    END AS verdict
FROM sides AS b
JOIN sides AS h
    ON same_family(h, b) AND h.run_name IS NOT DISTINCT FROM b.run_name
    AND h.is_total = b.is_total AND h.allocator IS NOT DISTINCT FROM b.allocator
WHERE b.is_head = 0 AND h.is_head = 1
ORDER BY
    b.device, b.model, b.backend NULLS LAST, b.run_name NULLS LAST, b.is_total,
    b.allocator NULLS LAST
