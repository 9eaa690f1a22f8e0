-- two_samples: Head and base of each series compared as two samples.
--
-- Reads plain_samples. The function compare_samples computes the results.
--
-- columns:
--   series_id, base_count, head_count, base_value, head_value
--   results  STRUCT  Results of both builds; null unless both have values.
SELECT
    series_id,
    CAST(sum(1 - is_head) AS BIGINT) AS base_count,
    CAST(sum(is_head) AS BIGINT) AS head_count,
    median(CASE WHEN is_head = 0 THEN value END) AS base_value,
    median(CASE WHEN is_head = 1 THEN value END) AS head_value,
    compare_samples(
        array_agg(y) FILTER (WHERE is_head = 0),
        array_agg(y) FILTER (WHERE is_head = 1)
    ) AS results
FROM plain_samples
GROUP BY series_id
