-- memory_by_instruction: Memory that runs allocate, by allocator and instruction.
--
-- A dump does not name the instruction of an allocation. But it lists a profile event
-- at its end, and an allocation when it is made: so the allocation belongs to the next
-- event that ends: a kernel, a delegate call, or an event outside the program's
-- instructions, such as the load of a method. The order of the file shows this; only
-- for an event that repeats in a run, the clock decides. If an instruction calls its
-- delegate several times in a run, allocations of the delegate can be assigned to the
-- first call only.
--
-- params:
--   event
--
-- filters: grouped_dumps
--
-- parts: logged_runs, allocating_events
--
-- portions: device
--
-- columns:
--   device, pool, build, model, backend, group
--   run_name          STRING  Name of the runs, which separates loading from executing;
--                             null if they have none.
--   allocator         STRING  Allocator; null if it has no name.
--   instruction_id
--   event_name        STRING  Kernel or call of the instruction, else the event that
--                             ran; null if no event ended after it, and without the
--                             dump's events.
--   run_count         BIGINT  Runs of the name in dumps that log allocations.
--   allocation_count  BIGINT  Allocations in all of them.
--   total_bytes       DOUBLE  Mean allocation of a run; lower is better, as in the next
--                             columns.
--   peak_bytes, largest_bytes
WITH logged AS (
    SELECT
        d.place_id, r.name AS run_name, a.allocator, e.instruction_id, e.event_name,
        count(*) AS allocation_count,
        CAST(least(sum(a.bytes), 9223372036854775807) AS BIGINT) AS total_bytes,
        CAST(least(max(a.bytes), 9223372036854775807) AS BIGINT) AS largest_bytes
    FROM allocations AS a
    JOIN grouped_dumps AS d ON d.dump_id = a.dump_id
    JOIN runs AS r ON r.dump_id = a.dump_id AND r.run_index = a.run_index
    JOIN allocating_events AS e
        ON e.dump_id = a.dump_id AND e.run_index = a.run_index
        AND e.event_index = a.event_index
    GROUP BY
        d.place_id, r.name, a.dump_id, a.run_index, a.allocator, e.instruction_id,
        e.event_name
),
sums AS (
    SELECT
        place_id, run_name, allocator, instruction_id, event_name,
        CAST(sum(allocation_count) AS BIGINT) AS allocation_count,
        sum(CAST(total_bytes AS DOUBLE)) AS total_bytes,
        max(total_bytes) AS peak_bytes, max(largest_bytes) AS largest_bytes
    FROM logged
    GROUP BY place_id, run_name, allocator, instruction_id, event_name
)
SELECT
    r.device, r.pool, r.build, r.model, r.backend, r.group_value AS group,
    s.run_name, s.allocator, s.instruction_id, s.event_name, r.run_count,
    s.allocation_count, s.total_bytes / r.run_count AS total_bytes,
    s.peak_bytes, s.largest_bytes
FROM sums AS s
JOIN logged_runs AS r
    ON r.place_id = s.place_id AND r.run_name IS NOT DISTINCT FROM s.run_name
WHERE is_chosen(:event, s.event_name)
ORDER BY
    s.place_id, s.run_name NULLS LAST, s.allocator NULLS LAST,
    s.instruction_id NULLS LAST, s.event_name NULLS LAST
