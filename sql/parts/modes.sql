-- modes: Series whose processes run in one of two modes, and how much each mode takes.
--
-- Reads plain_samples. The modes lie on either side of the largest gap between
-- neighbours of both builds, 8 % of the values left out at either end, if it is wider
-- than 0.08 and than 8 times the median gap, and a build has values on both sides. A
-- mode's centre is the median of the base there; of the head, if only that has both.
--
-- A head that has all but left the side where the base is did not just change how often
-- it is slow: if at most a quarter of the one is slow, and three quarters of the other
-- or more, the values are compared as they are, without modes.
--
-- columns:
--   series_id    BIGINT  Number of the series.
--   split        DOUBLE  Values of the faster mode are at most this, in log time.
--   fast_centre  DOUBLE  Centre of the faster mode.
--   slow_centre  DOUBLE  Centre of the slower mode.
--   z            DOUBLE  How far the shares of slow processes differ, in standard
--                        deviations (two proportions, corrected for continuity).
WITH gaps AS (
    SELECT series_id, y, gap
    FROM (
        SELECT
            series_id, y,
            lead(y) OVER (PARTITION BY series_id ORDER BY y) - y AS gap,
            row_number() OVER (PARTITION BY series_id ORDER BY y) AS k,
            count(*) OVER (PARTITION BY series_id) AS n
        FROM plain_samples
    ) AS o
    WHERE k > ceil(0.08e0 * n) AND k < n - ceil(0.08e0 * n)
),
splits AS (
    SELECT g.series_id, min(g.y) AS split
    FROM gaps AS g
    JOIN (
        SELECT series_id, max(gap) AS widest
        FROM gaps
        GROUP BY series_id
        HAVING max(gap) > 0.08e0 AND max(gap) > 8 * median(gap)
    ) AS w
        ON w.series_id = g.series_id AND w.widest = g.gap
    GROUP BY g.series_id
),
sides AS (
    SELECT
        s.series_id, min(p.split) AS split,
        median(CASE WHEN is_head = 0 AND y <= split THEN y END) AS base_fast,
        median(CASE WHEN is_head = 0 AND y > split THEN y END) AS base_slow,
        median(CASE WHEN is_head = 1 AND y <= split THEN y END) AS head_fast,
        median(CASE WHEN is_head = 1 AND y > split THEN y END) AS head_slow,
        CAST(sum(1 - is_head) AS DOUBLE) AS n1, CAST(sum(is_head) AS DOUBLE) AS n2,
        CAST(sum(CASE WHEN y > split THEN 1 - is_head ELSE 0 END) AS DOUBLE) AS slow1,
        CAST(sum(CASE WHEN y > split THEN is_head ELSE 0 END) AS DOUBLE) AS slow2
    FROM plain_samples AS s
    JOIN splits AS p ON p.series_id = s.series_id
    GROUP BY s.series_id
)
SELECT
    series_id, split,
    CASE WHEN base_fast + base_slow IS NULL THEN head_fast ELSE base_fast END
        AS fast_centre,
    CASE WHEN base_fast + base_slow IS NULL THEN head_slow ELSE base_slow END
        AS slow_centre,
    greatest(abs(slow1 / n1 - slow2 / n2) - (1 / n1 + 1 / n2) / 2, 0e0) / sqrt(
        (slow1 + slow2) * (n1 + n2 - slow1 - slow2) / (n1 + n2) / n1 / n2
    ) AS z
FROM sides
WHERE n1 > 0 AND n2 > 0
    AND coalesce(base_fast + base_slow, head_fast + head_slow) IS NOT NULL
    AND NOT (slow1 <= 0.25e0 * n1 AND slow2 >= 0.75e0 * n2)
    AND NOT (slow1 >= 0.75e0 * n1 AND slow2 <= 0.25e0 * n2)
