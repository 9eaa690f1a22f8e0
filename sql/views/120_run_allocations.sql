-- run_allocations: Allocations of each run, by allocator.
--
-- Dumps record no releases, so a sum is an upper bound of the memory held at once.
--
-- columns:
--   dump_id, run_index, run_name
--   allocator         STRING  Name of the allocator; null if it has none.
--   allocation_count  BIGINT  Allocations, at least 1.
--   total_bytes       BIGINT  Sum of their sizes, at most 2^63 - 1.
--   largest_bytes     BIGINT  Size of the largest allocation, at most 2^63 - 1.
SELECT
    a.dump_id, a.run_index, r.name AS run_name, a.allocator,
    count(*) AS allocation_count,
    CAST(least(sum(a.bytes), 9223372036854775807) AS BIGINT) AS total_bytes,
    CAST(least(max(a.bytes), 9223372036854775807) AS BIGINT) AS largest_bytes
FROM allocations AS a
JOIN runs AS r ON r.dump_id = a.dump_id AND r.run_index = a.run_index
GROUP BY a.dump_id, a.run_index, r.name, a.allocator
