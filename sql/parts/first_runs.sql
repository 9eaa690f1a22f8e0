-- first_runs: The first complete run of each method that dumps load.
--
-- Reads loads, and dump_id of grouped_dumps. As many kinds of runs count as methods
-- were loaded, at least one, in the order of their first runs.
--
-- columns:
--   dump_id, run_signature_id
--   execute_ticks  DOUBLE  Its Method::execute, ticks.
WITH firsts AS (
    SELECT
        t.dump_id, n.run, min(t.run_index) AS run_index,
        min_by(t.run_signature_id, t.run_index) AS run_signature_id,
        min_by(t.execute_ticks, t.run_index) AS execute_ticks
    FROM run_totals AS t
    JOIN named_run_signatures AS n
        ON n.dump_id = t.dump_id AND n.run_signature_id = t.run_signature_id
    WHERE t.dump_id IN (SELECT dump_id FROM grouped_dumps)
    GROUP BY t.dump_id, n.run
),
kinds AS (
    SELECT
        dump_id, run_signature_id, execute_ticks,
        row_number() OVER (PARTITION BY dump_id ORDER BY run_index) AS kind
    FROM firsts
)
SELECT k.dump_id, k.run_signature_id, k.execute_ticks
FROM kinds AS k
LEFT JOIN loads AS l ON l.dump_id = k.dump_id
WHERE k.kind <= greatest(coalesce(l.load_count, 1), 1)
