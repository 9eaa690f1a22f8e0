-- stated_counters: Counters that manifests state or delegates log, by run or dump.
--
-- Reads only dump_id of grouped_dumps.
--
-- columns:
--   dump_id, counter
--   unit             STRING  Its unit.
--   scope            STRING  Scope of the value: run or dump.
--   run_name         STRING  Name of the run; null if it has none, if the dump has no
--                            such run, and with scope dump.
--   value            DOUBLE  The value; the sum over the calls of a run.
--   inference_count  BIGINT  Complete runs that the value is of; null for a run that is
--                            none.
WITH inferences AS (
    SELECT dump_id, count(*) AS run_count
    FROM run_totals
    WHERE dump_id IN (SELECT dump_id FROM counters)
    GROUP BY dump_id
)
SELECT
    c.dump_id, c.name AS counter, c.unit,
    CASE WHEN c.run_index IS NULL THEN 'dump' ELSE 'run' END AS scope,
    r.name AS run_name, c.value,
    CASE
        WHEN c.run_index IS NULL THEN n.run_count
        WHEN t.run_index IS NOT NULL THEN 1
    END AS inference_count
FROM (
    SELECT dump_id, run_index, name, unit, exact_sum(value) AS value
    FROM counters
    WHERE dump_id IN (SELECT dump_id FROM grouped_dumps)
    GROUP BY dump_id, run_index, name, unit
) AS c
LEFT JOIN runs AS r ON r.dump_id = c.dump_id AND r.run_index = c.run_index
LEFT JOIN run_totals AS t ON t.dump_id = c.dump_id AND t.run_index = c.run_index
LEFT JOIN inferences AS n ON n.dump_id = c.dump_id
