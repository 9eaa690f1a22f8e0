-- paired_samples: Head and base of each series compared by differences of pairs.
--
-- Reads compared_dumps and plain_samples. A pair is a dump of the base and one of the
-- head with the same run.pair in the same session of the same device, model and
-- backend. A series has a row if both dumps of at least 8 pairs have values; dumps
-- without a partner do not count then. The function compare_pairs computes the results.
--
-- columns:
--   series_id
--   pair_count  BIGINT  Pairs that count.
--   base_value  DOUBLE  Median of the base's values in them.
--   head_value
--   results     STRUCT  Results of the pairs.
WITH partners AS (
    SELECT dump_id, pair_id
    FROM (
        SELECT
            c.dump_id, sum(c.is_head) OVER pair AS head_count,
            count(*) OVER pair AS dump_count,
            dense_rank() OVER (
                ORDER BY d.device, d.model, d.backend, d.session, d.pair
            ) AS pair_id
        FROM compared_dumps AS c
        JOIN named_dumps AS d ON d.dump_id = c.dump_id
        WHERE d.session IS NOT NULL AND d.pair IS NOT NULL
        WINDOW pair AS (PARTITION BY d.device, d.model, d.backend, d.session, d.pair)
    ) AS p
    WHERE head_count = 1 AND dump_count = 2
),
valued AS (
    SELECT
        s.series_id, p.pair_id,
        max(CASE WHEN s.is_head = 0 THEN s.value END) AS base_value,
        max(CASE WHEN s.is_head = 1 THEN s.value END) AS head_value,
        max(CASE WHEN s.is_head = 0 THEN s.y END) AS base_y,
        max(CASE WHEN s.is_head = 1 THEN s.y END) AS head_y
    FROM plain_samples AS s
    JOIN partners AS p ON p.dump_id = s.dump_id
    GROUP BY s.series_id, p.pair_id
    HAVING count(*) = 2
)
SELECT
    series_id, CAST(count(*) AS BIGINT) AS pair_count, median(base_value) AS base_value,
    median(head_value) AS head_value,
    compare_pairs(array_sort(array_agg(array(base_y, head_y)))) AS results
FROM valued
GROUP BY series_id
HAVING count(*) >= 8
