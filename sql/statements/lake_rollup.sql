-- Rows of a table of statistics in a lake, `lake_rollup`, with all its `other_columns`.
--
-- Lakes before schema 8 do not tell run signatures apart: what they have of an event
-- counts for the dump's run signature with the event that has the most runs.
WITH places AS (
    SELECT dump_id, run_signature_id, event_signature_id
    FROM (
        SELECT
            r.dump_id, r.run_signature_id, e.event_signature_id,
            row_number() OVER (
                PARTITION BY r.dump_id, e.event_signature_id
                ORDER BY r.run_count DESC, r.run_signature_id DESC
            ) AS choice
        FROM (
            SELECT dump_id, run_signature_id, count(*) AS run_count
            FROM runs
            WHERE dump_id IN (SELECT dump_id FROM lake_rollup WHERE run_signature_id IS NULL)
            GROUP BY dump_id, run_signature_id
        ) AS r
        JOIN (
            SELECT run_signature_id, explode(events) AS event_signature_id
            FROM run_signatures
        ) AS e ON e.run_signature_id = r.run_signature_id
    ) AS p
    WHERE choice = 1
)
SELECT dump_id, run_signature_id, other_columns
FROM lake_rollup
WHERE run_signature_id IS NOT NULL
UNION ALL
SELECT dump_id, best_id AS run_signature_id, other_columns
FROM (
    SELECT x.*, p.run_signature_id AS best_id
    FROM lake_rollup AS x
    JOIN places AS p
        ON p.dump_id = x.dump_id AND p.event_signature_id = x.event_signature_id
    WHERE x.run_signature_id IS NULL
) AS older
