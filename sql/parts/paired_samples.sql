-- paired_samples: Head and base of each series compared by the differences of pairs.
--
-- Reads compared_dumps and plain_samples. A pair are the two dumps of base and head
-- that state the same run.pair in the same session of the same device, model and
-- backend. A series is here if it has values of both dumps of 8 pairs; then dumps
-- without a partner do not count. The figures are those of the function compare_pairs.
--
-- columns:
--   series_id   BIGINT  Number of the series.
--   pair_count  BIGINT  Pairs that count.
--   base_value  DOUBLE  Median of the base's values in them.
--   head_value  DOUBLE  Median of the head's values.
--   figures     STRUCT  What the pairs say.
WITH pairs AS (
    SELECT
        row_number() OVER (ORDER BY max(dump_id)) AS pair_id,
        max(CASE WHEN is_head = 0 THEN dump_id END) AS base_id,
        max(CASE WHEN is_head = 1 THEN dump_id END) AS head_id
    FROM (
        SELECT c.dump_id, c.is_head, d.device, d.model, d.backend, d.session, d.pair
        FROM compared_dumps AS c
        JOIN named_dumps AS d ON d.dump_id = c.dump_id
        WHERE d.session IS NOT NULL AND d.pair IS NOT NULL
    ) AS p
    GROUP BY device, model, backend, session, pair
    HAVING sum(is_head) = 1 AND count(*) = 2
),
partners AS (
    SELECT pair_id, base_id AS dump_id FROM pairs
    UNION ALL
    SELECT pair_id, head_id AS dump_id FROM pairs
),
valued AS (
    SELECT
        s.series_id, p.pair_id,
        max(CASE WHEN s.is_head = 0 THEN s.y END) AS base_y,
        max(CASE WHEN s.is_head = 1 THEN s.y END) AS head_y,
        max(CASE WHEN s.is_head = 0 THEN s.value END) AS base_value,
        max(CASE WHEN s.is_head = 1 THEN s.value END) AS head_value
    FROM plain_samples AS s
    JOIN partners AS p ON p.dump_id = s.dump_id
    GROUP BY s.series_id, p.pair_id
    HAVING count(*) = 2
)
SELECT
    series_id, CAST(count(*) AS BIGINT) AS pair_count, median(base_value) AS base_value,
    median(head_value) AS head_value,
    compare_pairs(array_sort(array_agg(array(base_y, head_y)))) AS figures
FROM valued
GROUP BY series_id
HAVING count(*) >= 8
