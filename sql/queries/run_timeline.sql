-- run_timeline: Events of one run of a dump, in the order of their starts.
--
-- By default the run of median length is shown. A run ends with the last of its events,
-- except events inside delegates, whose clock may be another one, and flagged events.
--
-- params:
--   dump  BIGINT OF dumps.dump_id  Number of the dump, its dump_id.
--   run   INT(0..) = NULL       Position of the run in its dump.
--   event
--
-- next: event_blocks, framework_tax
--
-- columns:
--   run_index, run_name
--   event_name   STRING   Name of the event, else its delegate id.
--   delegate_id, instruction_id, kind
--   start_ns     DOUBLE   Start after the run's first start, nanoseconds; null in
--                         cycles of unknown rate, and for events of a delegate whose
--                         clock is another one, or whose value has a unit.
--   duration_ns  DOUBLE   Duration, nanoseconds; null in cycles of unknown rate.
--   is_flagged   BOOLEAN  Whether the duration is impossible.
WITH spans AS (
    SELECT
        run_index,
        max(CASE
            WHEN kind = 'delegate_op' OR unit IS NOT NULL OR flags > 1 THEN 0e0
            ELSE CAST(start_offset_ticks AS DOUBLE) + duration_ticks
        END) AS end_ticks,
        -- Events with a unit mostly start at 0, and would wrongly come first.
        CASE
            WHEN count(unit) > 0 THEN coalesce(min(CASE
                WHEN kind <> 'delegate_op' AND unit IS NULL
                    THEN CAST(start_offset_ticks AS DOUBLE)
            END), 0e0)
            ELSE greatest(min(CAST(start_offset_ticks AS DOUBLE)), 0e0)
        END AS first_ticks
    FROM named_events
    WHERE dump_id = CAST(:dump AS BIGINT)
    GROUP BY run_index
),
ranked AS (
    SELECT
        run_index,
        first_ticks,
        row_number() OVER (ORDER BY end_ticks - first_ticks, run_index) AS position,
        count(*) OVER () AS run_count
    FROM spans
),
chosen AS (
    SELECT run_index, first_ticks
    FROM ranked
    WHERE CASE
        WHEN CAST(:run AS INT) IS NULL THEN 2 * position IN (run_count, run_count + 1)
        ELSE run_index = CAST(:run AS INT)
    END
)
SELECT
    e.run_index, g.name AS run_name,
    e.event_name, e.delegate_id, e.instruction_id, e.kind,
    CASE
        WHEN e.unit IS NULL AND e.start_offset_ticks >= c.first_ticks
            AND (e.kind <> 'delegate_op' OR d.delegate_ns_per_tick = d.ns_per_tick)
            THEN (e.start_offset_ticks - c.first_ticks) * d.ns_per_tick
    END AS start_ns,
    e.duration_ns,
    e.flags > 1 AS is_flagged
FROM named_events AS e
JOIN chosen AS c ON c.run_index = e.run_index
JOIN named_dumps AS d ON d.dump_id = e.dump_id
LEFT JOIN run_signatures AS g ON g.run_signature_id = e.run_signature_id
WHERE e.dump_id = CAST(:dump AS BIGINT) AND is_chosen(:event, e.event_name)
ORDER BY
    e.start_offset_ticks NULLS LAST, e.duration_ticks DESC NULLS LAST,
    e.event_name, e.instruction_id NULLS LAST, e.delegate_id NULLS LAST, e.occurrence,
    e.event_signature_id
