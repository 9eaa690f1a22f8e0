-- How many models have no dump in token_dumps, and how many there are, a model of each backend.
SELECT
    count(*) FILTER (WHERE NOT is_generating) AS other_count, count(*) AS model_count
FROM (
    SELECT bool_or(dump_id IN (SELECT dump_id FROM token_dumps)) AS is_generating
    FROM named_dumps
    GROUP BY model, backend
)
