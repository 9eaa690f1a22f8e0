-- build_history: One event over the builds, on each device.
--
-- Builds are ordered by their ordinals, else by their commit times, else by their first
-- recordings. The value of a dump is the grouped median of the event after warm-up
-- (from the sixth run on) if at least 20 events are left, else the median of all its
-- events.
--
-- params:
--   event           STRING[] OF named_event_signatures.event_name  Name or names of the
--                                  event, e.g. native_call_convolution.out or
--                                  'native_call_*'; a delegate id where it has none.
--   instruction_id  INT(0..) = NULL  Only this instruction; ids shift between builds,
--                                  ordinals less so.
--   delegate_id     STRING[] OF named_event_signatures.delegate_id = NULL  Only this
--                                  delegate debug id.
--   ordinal         INT(1..) = NULL  Only the n-th instruction of that name and
--                                  delegate id in its run, from 1.
--
-- filters: chosen_operators
--
-- next: change_points, device_health
--
-- columns:
--   device, model, backend, run
--   event_name    STRING  Name of the event.
--   delegate_id, ordinal, build, build_ordinal, committed_at, first_captured_at
--   dump_count    BIGINT  Dumps of known clock rate, at least 1.
--   sample_count  BIGINT  Events in them, at least 1.
--   p50_ns        DOUBLE  Median of the dumps' medians, nanoseconds; lower is better.
--   min_ns        DOUBLE  Lowest dump median.
--   max_ns        DOUBLE  Highest dump median.
--   p10_ns        DOUBLE  10th percentile of the dumps' medians.
--   p90_ns        DOUBLE  90th percentile of the dumps' medians.
--   change        DOUBLE(change)  p50_ns against the build before, as a share: 0.05 is
--                         5 % slower; null for the first.
WITH series AS (
    SELECT
        device, model, backend, run, event_name, delegate_id, ordinal, build,
        count(*) AS dump_count,
        CAST(sum(sample_count) AS BIGINT) AS sample_count,
        median(known_ns) AS p50_ns, min(known_ns) AS min_ns, max(known_ns) AS max_ns,
        percentile_cont(0.1) WITHIN GROUP (ORDER BY known_ns) AS p10_ns,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY known_ns) AS p90_ns
    FROM (
        SELECT *, coalesce(value_ns, p50_ns) AS known_ns
        FROM chosen_operators
    ) AS d
    WHERE array_contains(CAST(:event AS ARRAY<STRING>), event_name)
        AND instruction_id
            IS NOT DISTINCT FROM coalesce(CAST(:instruction_id AS INT), instruction_id)
        AND is_chosen(:delegate_id, delegate_id)
        AND (CAST(:ordinal AS INT) IS NULL OR ordinal = CAST(:ordinal AS INT))
        AND known_ns IS NOT NULL
    GROUP BY device, model, backend, run, event_name, delegate_id, ordinal, build
)
SELECT
    s.device, s.model, s.backend, s.run, s.event_name, s.delegate_id, s.ordinal,
    s.build, b.build_ordinal, b.committed_at, b.first_captured_at,
    s.dump_count, s.sample_count, s.p50_ns, s.min_ns, s.max_ns, s.p10_ns, s.p90_ns,
    s.p50_ns / nullif(
        lag(s.p50_ns) OVER (
            PARTITION BY
                s.device, s.model, s.backend, s.run, s.event_name, s.delegate_id,
                s.ordinal
            ORDER BY b.position
        ), 0e0
    ) - 1 AS change
FROM series AS s
JOIN builds_in_order AS b ON b.build = s.build
ORDER BY
    s.device, s.model, s.backend NULLS LAST, s.run, s.event_name,
    s.delegate_id NULLS LAST, s.ordinal, b.position
