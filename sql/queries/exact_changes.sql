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
-- delegate that logs none counting as one; allocated_bytes per run. All but the first
-- two are measures of runs of one name. Counters in bytes that manifests state for
-- whole dumps, such as the size of the program, keep their own names.
--
-- A dump counts in the measures that it logs: without runs of a name, or if its runs
-- log neither operators nor delegate calls, it says nothing of theirs, and without any
-- allocation nothing of memory. If it logs some, its runs took 0 bytes of an allocator
-- that they do not name. A measure that one build says nothing of has no row.
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
        device, model, backend, min(low) = max(low) AS has_equal_runs
    FROM measured_dumps
    WHERE measure = 'runs_per_dump'
    GROUP BY device, model, backend
),
series AS (
    SELECT
        device, model, backend, measure, run_name, allocator,
        count(CASE WHEN is_head = 0 THEN 1 END) AS base_count,
        count(CASE WHEN is_head = 1 THEN 1 END) AS head_count,
        min(CASE WHEN is_head = 0 THEN low END) AS base,
        max(CASE WHEN is_head = 0 THEN high END) AS base_high,
        min(CASE WHEN is_head = 1 THEN low END) AS head,
        max(CASE WHEN is_head = 1 THEN high END) AS head_high
    FROM measured_dumps
    GROUP BY device, model, backend, measure, run_name, allocator
)
SELECT
    s.device, s.model, s.backend, s.measure, s.run_name, s.allocator,
    s.base_count, s.head_count, s.base, s.base_high, s.head, s.head_high,
    CASE
        WHEN s.base < s.base_high OR s.head < s.head_high THEN 'varies'
        WHEN s.base = s.head THEN 'unchanged'
        ELSE 'changed'
    END AS verdict
FROM series AS s
JOIN families AS f ON same_family(f, s)
WHERE s.base_count > 0 AND s.head_count > 0
    AND (s.measure <> 'dump_bytes' OR f.has_equal_runs)
ORDER BY
    s.device, s.model, s.backend NULLS LAST, s.measure, s.run_name NULLS LAST,
    s.allocator NULLS LAST
