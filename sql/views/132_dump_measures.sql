-- dump_measures: Measures of whole dumps: loading, decoding, counters.
--
-- A counter that a manifest states run by run has the median of the complete runs. Only
-- values above 0 have rows, and no times of a clock of unknown rate.
--
-- parts: all_dumps AS grouped_dumps, loads, first_runs, stated_counters
--
-- columns:
--   dump_id
--   kind   STRING  load_time, cold_start (loading and the first run of each method),
--                  first_token, token_rate, rate (a counter of which more is better:
--                  its unit ends in /s) or counter.
--   name   STRING  load_time, cold_start, first_token, tokens_per_second or the name of
--                  the counter.
--   unit   STRING  Unit of the value.
--   value  DOUBLE  The value, above 0.
WITH times AS (
    SELECT l.dump_id, 'load_time' AS name, coalesce(l.load_ns, l.init_ns) AS value
    FROM loads AS l
    UNION ALL
    SELECT
        l.dump_id, 'cold_start' AS name,
        coalesce(l.load_ns, l.init_ns) + f.ticks * d.ns_per_tick AS value
    FROM loads AS l
    JOIN dumps AS d ON d.dump_id = l.dump_id
    JOIN (
        SELECT dump_id, sum(execute_ticks) AS ticks
        FROM first_runs
        GROUP BY dump_id
    ) AS f ON f.dump_id = l.dump_id
    UNION ALL
    SELECT dump_id, 'first_token' AS name, first_token_ns AS value
    FROM token_measures
),
measured AS (
    SELECT dump_id, name AS kind, name, 'ns' AS unit, value
    FROM times
    UNION ALL
    SELECT
        dump_id, 'token_rate' AS kind, 'tokens_per_second' AS name, '/s' AS unit,
        tokens_per_second AS value
    FROM token_measures
    UNION ALL
    SELECT
        dump_id, CASE WHEN right(unit, 2) = '/s' THEN 'rate' ELSE 'counter' END AS kind,
        counter AS name, unit, median(value) AS value
    FROM stated_counters
    WHERE scope = 'dump' OR inference_count > 0
    GROUP BY dump_id, counter, unit
)
SELECT dump_id, kind, name, unit, value
FROM measured
WHERE value > 0
