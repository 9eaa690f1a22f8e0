-- dump_allocations: What the runs of each name allocate, by dump and allocator.
--
-- Reads dump_id, device, model and backend of compared_dumps. A dump that logs no
-- allocation has no rows, for most runtimes log none, and nor has one without runs of
-- the name. A dump that logs some took 0 bytes of an allocator that it does not name,
-- but that another dump of the model on the device names in such runs.
--
-- columns:
--   dump_id, run_name
--   is_total          BOOLEAN  Whether the row is of all allocators together.
--   allocator         STRING   Allocator; null if it has no name, and if is_total.
--   run_count         BIGINT   Runs of the name, at least 1.
--   allocation_count  BIGINT   Allocations of all of them.
--   least             BIGINT   Bytes of the run that allocates least.
--   most              BIGINT   Bytes of the run that allocates most.
WITH logging AS (
    SELECT
        c.dump_id, c.device, c.model, c.backend, r.name AS run_name,
        count(*) AS run_count
    FROM runs AS r
    JOIN compared_dumps AS c ON c.dump_id = r.dump_id
    WHERE r.dump_id IN (SELECT dump_id FROM allocations)
    GROUP BY c.dump_id, c.device, c.model, c.backend, r.name
),
of_runs AS (
    SELECT
        a.dump_id, r.name AS run_name, a.run_index, FALSE AS is_total, a.allocator,
        count(*) AS allocation_count,
        CAST(least(sum(a.bytes), 9223372036854775807) AS BIGINT) AS total_bytes
    FROM allocations AS a
    JOIN runs AS r ON r.dump_id = a.dump_id AND r.run_index = a.run_index
    WHERE a.dump_id IN (SELECT dump_id FROM compared_dumps)
    GROUP BY a.dump_id, r.name, a.run_index, a.allocator
    UNION ALL
    SELECT
        a.dump_id, r.name AS run_name, a.run_index, TRUE AS is_total,
        CAST(NULL AS STRING) AS allocator, count(*) AS allocation_count,
        CAST(least(sum(a.bytes), 9223372036854775807) AS BIGINT) AS total_bytes
    FROM allocations AS a
    JOIN runs AS r ON r.dump_id = a.dump_id AND r.run_index = a.run_index
    WHERE a.dump_id IN (SELECT dump_id FROM compared_dumps)
    GROUP BY a.dump_id, r.name, a.run_index
),
of_dumps AS (
    SELECT
        dump_id, run_name, is_total, allocator, count(*) AS logged_count,
        sum(allocation_count) AS allocation_count,
        min(total_bytes) AS least, max(total_bytes) AS most
    FROM of_runs
    GROUP BY dump_id, run_name, is_total, allocator
),
named AS (
    SELECT DISTINCT
        l.device, l.model, l.backend, o.run_name, o.is_total, o.allocator
    FROM of_dumps AS o
    JOIN logging AS l
        ON l.dump_id = o.dump_id AND l.run_name IS NOT DISTINCT FROM o.run_name
)
SELECT
    l.dump_id, l.run_name, n.is_total, n.allocator, l.run_count,
    CAST(coalesce(o.allocation_count, 0) AS BIGINT) AS allocation_count,
    CASE WHEN o.logged_count = l.run_count THEN o.least ELSE 0 END AS least,
    coalesce(o.most, 0) AS most
FROM logging AS l
JOIN named AS n
    ON same_family(n, l) AND n.run_name IS NOT DISTINCT FROM l.run_name
LEFT JOIN of_dumps AS o
    ON o.dump_id = l.dump_id AND o.is_total = n.is_total
    AND o.run_name IS NOT DISTINCT FROM l.run_name
    AND o.allocator IS NOT DISTINCT FROM n.allocator
