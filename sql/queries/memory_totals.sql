-- memory_totals: Memory that runs allocate, by allocator.
--
-- Bytes are those of a run. A run without allocations of an allocator that other runs
-- of its name use took 0 bytes of it. Dumps record no releases, so the total of a run
-- is an upper bound of the memory held at once; the peak is the total of the largest
-- run. Dumps without any allocation are left out: most runtimes do not log them.
--
-- params:
--   scope  STRING(allocator|total) = 'allocator'  Each allocator, or all together.
--
-- filters: grouped_dumps
--
-- parts: logged_runs
--
-- portions: device
--
-- next: memory_by_instruction, memory_deltas
--
-- columns:
--   device, pool, build, model, backend, group
--   run_name          STRING  Name of the runs, which separates loading from executing;
--                             null if they have none.
--   allocator         STRING  Allocator; null if it has no name, and with scope total.
--   dump_count        BIGINT  Dumps that log allocations.
--   run_count         BIGINT  Runs of the name in them.
--   allocation_count  BIGINT  Allocations in all of them.
--   total_bytes       DOUBLE  Mean allocation of a run; lower is better, as in the next
--                             columns.
--   least_bytes       BIGINT  Allocation of the smallest run.
--   peak_bytes, largest_bytes
WITH logged AS (
    SELECT
        d.place_id, a.dump_id, a.run_index, r.name AS run_name,
        CASE CAST(:scope AS STRING) WHEN 'allocator' THEN a.allocator END AS allocator,
        count(*) AS allocation_count,
        CAST(least(sum(a.bytes), 9223372036854775807) AS BIGINT) AS total_bytes,
        CAST(least(max(a.bytes), 9223372036854775807) AS BIGINT) AS largest_bytes
    FROM allocations AS a
    JOIN grouped_dumps AS d ON d.dump_id = a.dump_id
    JOIN runs AS r ON r.dump_id = a.dump_id AND r.run_index = a.run_index
    GROUP BY
        d.place_id, a.dump_id, a.run_index, r.name,
        CASE CAST(:scope AS STRING) WHEN 'allocator' THEN a.allocator END
),
sums AS (
    SELECT
        place_id, run_name, allocator, count(*) AS logged_count,
        CAST(sum(allocation_count) AS BIGINT) AS allocation_count,
        sum(CAST(total_bytes AS DOUBLE)) AS total_bytes,
        min(total_bytes) AS least_bytes, max(total_bytes) AS peak_bytes,
        max(largest_bytes) AS largest_bytes
    FROM logged
    GROUP BY place_id, run_name, allocator
)
SELECT
    r.device, r.pool, r.build, r.model, r.backend, r.group_value AS group,
    s.run_name, s.allocator, r.dump_count, r.run_count, s.allocation_count,
    s.total_bytes / r.run_count AS total_bytes,
    CASE WHEN s.logged_count < r.run_count THEN 0 ELSE s.least_bytes END
        AS least_bytes,
    s.peak_bytes, s.largest_bytes
FROM sums AS s
JOIN logged_runs AS r
    ON r.place_id = s.place_id AND r.run_name IS NOT DISTINCT FROM s.run_name
ORDER BY s.place_id, s.run_name NULLS LAST, s.allocator NULLS LAST
