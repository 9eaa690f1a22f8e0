-- two_samples: Head and base of each series compared, whatever they are the values of.
--
-- Reads samples. Mann-Whitney test, Hodges-Lehmann shift and its 99 % interval. Up to
-- 30 values a side the ranks of the interval come from the exact distribution, as p
-- does: the interval is without 0 just where p is at most 0.01 (ties aside).
--
-- columns:
--   series_id  BIGINT  Number of the series.
--   excess     DOUBLE  Mann-Whitney U (pairs in which the head's is greater, equal
--                      ones by half) less what it is on average if both are alike.
--   variance   DOUBLE  Variance of U if both are alike, ties considered.
--   shift      DOUBLE  Median of all differences of head and base.
--   low        DOUBLE  Lower end of its interval; null with too few values for one.
--   high       DOUBLE  Upper end.
WITH limits AS (
    SELECT
        n_small, n_large,
        CAST(max(CASE WHEN p <= 0.01e0 THEN u END) + 1 AS DOUBLE) AS edge
    FROM mann_whitney_exact
    GROUP BY n_small, n_large
),
ties AS (
    SELECT
        series_id, sum(base) AS n1, sum(head) AS n2,
        sum((base + head) * ((base + head) * (base + head) - 1)) AS ties
    FROM (
        SELECT
            series_id, y, CAST(sum(1 - is_head) AS DOUBLE) AS base,
            CAST(sum(is_head) AS DOUBLE) AS head
        FROM samples
        GROUP BY series_id, y
    ) AS g
    GROUP BY series_id
),
-- edge is the rank, from either end, of the interval's limits.
sizes AS (
    SELECT
        series_id, n1 * n2 AS pairs,
        greatest(n1 + n2 + 1 - ties / ((n1 + n2) * (n1 + n2 - 1)), 0e0) * n1 * n2 / 12
            AS variance,
        CASE
            WHEN greatest(n1, n2) <= 30 THEN edge
            ELSE floor(n1 * n2 / 2 + 0.5e0 - 2.575829e0 * sqrt(
                n1 * n2 * (n1 + n2 + 1) / 12
            ))
        END AS edge
    FROM ties AS t
    LEFT JOIN limits AS l ON l.n_small = least(n1, n2) AND l.n_large = greatest(n1, n2)
    WHERE n1 > 0 AND n2 > 0
),
differences AS (
    SELECT
        b.series_id, array_sort(array_agg(h.y - b.y)) AS d,
        sum(CASE WHEN h.y > b.y THEN 0.5e0 WHEN h.y < b.y THEN -0.5e0 ELSE 0e0 END)
            AS excess
    FROM samples AS b
    JOIN samples AS h ON h.series_id = b.series_id
    WHERE b.is_head = 0 AND h.is_head = 1
    GROUP BY b.series_id
)
SELECT
    s.series_id, excess, variance,
    (element_at(d, CAST(floor((pairs + 1) / 2) AS INT))
        + element_at(d, CAST(ceil((pairs + 1) / 2) AS INT))) / 2 AS shift,
    CASE WHEN edge >= 1 THEN element_at(d, CAST(edge AS INT)) END AS low,
    CASE WHEN edge >= 1 THEN element_at(d, CAST(pairs + 1 - edge AS INT)) END AS high
FROM sizes AS s
JOIN differences AS d ON d.series_id = s.series_id
