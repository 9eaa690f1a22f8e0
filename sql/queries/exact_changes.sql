-- exact_changes: Measures without noise in two builds: any change counts.
--
-- These measures say what a program does, not how long it takes: one dump is enough,
-- and no test is needed. Models are compared on devices that have dumps of both builds.
--
-- Measures: runs_per_dump; dump_bytes, if all dumps have the same number of runs, for
-- each run adds to it; operator_count, instructions that run a kernel;
-- delegate_call_count, instructions that call a delegate; operator_calls and
-- delegate_calls, the number of these calls per Method::execute (larger than the count
-- in loops); delegated_share, operators inside delegates over all operators, with a
-- delegate that logs none counting as one; allocated_bytes per run, 0 if a dump logged
-- none. All but the first two are measures of runs of one name. Counters in bytes that
-- manifests state for whole dumps, such as the size of the program, keep their own
-- names.
--
-- Verdicts: varies (not the same in all dumps, or runs, of one build), changed,
-- unchanged.
--
-- filters: compared_dumps
--
-- parts: exact_measures
--
-- portions: device
--
-- next: regression_deltas
--
-- columns:
--   device, model, backend
--   measure    STRING  Name of the measure, see above.
--   run_name   STRING  Name of the measured runs; null for measures of the whole dump.
--   allocator  STRING  Allocator of the bytes; null in other measures, and if it has no
--                      name.
--   base_count, head_count
--   base       DOUBLE  Value in the base; the lowest, if it varies.
--   base_high  DOUBLE  Highest value in the base.
--   head       DOUBLE  Value in the head; the lowest, if it varies.
--   head_high  DOUBLE  Highest value in the head.
--   verdict
WITH measured_dumps AS (
    SELECT
        c.device, c.model, c.backend, c.is_head,
        m.measure, m.run_name, m.allocator, m.low, m.high
    FROM exact_measures AS m
    JOIN compared_dumps AS c ON c.dump_id = m.dump_id
),
families AS (
    SELECT
        device, model, backend, min(low) = max(low) AS has_equal_runs,
        count(CASE WHEN is_head = 0 THEN 1 END) AS base_dumps,
        count(CASE WHEN is_head = 1 THEN 1 END) AS head_dumps
    FROM measured_dumps
    WHERE measure = 'runs_per_dump'
    GROUP BY device, model, backend
),
series AS (
    SELECT
        device, model, backend, measure, run_name, allocator,
        measure = 'allocated_bytes' AS is_logged,
        count(CASE WHEN is_head = 0 THEN 1 END) AS base_count,
        count(CASE WHEN is_head = 1 THEN 1 END) AS head_count,
        min(CASE WHEN is_head = 0 THEN low END) AS base_low,
        max(CASE WHEN is_head = 0 THEN high END) AS base_high,
        min(CASE WHEN is_head = 1 THEN low END) AS head_low,
        max(CASE WHEN is_head = 1 THEN high END) AS head_high
    FROM measured_dumps
    GROUP BY device, model, backend, measure, run_name, allocator
),
-- A dump that logged no allocation of a kind that others log allocated nothing.
completed AS (
    SELECT
        s.device, s.model, s.backend, s.measure, s.run_name, s.allocator,
        CASE WHEN is_logged THEN f.base_dumps ELSE s.base_count END AS base_count,
        CASE WHEN is_logged THEN f.head_dumps ELSE s.head_count END AS head_count,
        CASE WHEN is_logged AND s.base_count < f.base_dumps THEN 0e0 ELSE base_low END
            AS base,
        CASE WHEN is_logged THEN coalesce(base_high, 0e0) ELSE base_high END
            AS base_high,
        CASE WHEN is_logged AND s.head_count < f.head_dumps THEN 0e0 ELSE head_low END
            AS head,
        CASE WHEN is_logged THEN coalesce(head_high, 0e0) ELSE head_high END
            AS head_high
    FROM series AS s
    JOIN families AS f ON same_family(f, s)
    WHERE s.measure <> 'dump_bytes' OR f.has_equal_runs
)
SELECT
    device, model, backend, measure, run_name, allocator, base_count, head_count,
    base, base_high, head, head_high,
    CASE
        WHEN base < base_high OR head < head_high THEN 'varies'
        WHEN base = head THEN 'unchanged'
        ELSE 'changed'
    END AS verdict
FROM completed
WHERE base_count > 0 AND head_count > 0
ORDER BY
    device, model, backend NULLS LAST, measure, run_name NULLS LAST,
    allocator NULLS LAST
