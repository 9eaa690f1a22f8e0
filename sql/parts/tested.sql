-- tested: The compared, with how likely each change is to be an accident.
--
-- Reads scored, which has the columns of compared. Exact up to 30 dumps a side, else by
-- the normal approximation; Benjamini-Hochberg within a family.
--
-- columns:
--   series_id    BIGINT   Number of the series.
--   is_tested    BOOLEAN  Whether it has 8 dumps a side and is above its floor.
--   least_p      DOUBLE   Least p that so many dumps can give; 0 if tiny.
--   rival_count  BIGINT   Series of the family that are tested, or would be with more
--                         dumps.
--   test_count   BIGINT   Series of the family that are tested.
--   base_ran     INT      Whether the base has anything of the family.
--   head_ran     INT      Whether the head has.
--   p_adjusted   DOUBLE   Share of false alarms if this were one; null unless tested.
WITH rated AS (
    SELECT
        *, coalesce(greatest(base_value, head_value) >= floor, FALSE) AS is_above,
        coalesce(
            greatest(abs(excess) - 0.5e0, 0e0) / nullif(sqrt(2 * variance), 0e0), 0e0
        ) AS v
    FROM scored
),
-- The two-sided normal p is erfc(v); the polynomial in t = 1 / (1 + v / 2) gives it
-- with a relative error below 1.2e-7. The table ends at p = 0.2 and at 30 dumps a side.
normal AS (
    SELECT
        *, is_above AND least(base_count, head_count) >= 8 AS is_tested,
        least(1e0, t * exp(
            -v * v - 1.26551223e0 + t * (1.00002368e0 + t * (0.37409196e0
            + t * (0.09678418e0 + t * (-0.18628806e0 + t * (0.27886807e0
            + t * (-1.13520398e0 + t * (1.48851587e0 + t * (-0.82215223e0
            + t * 0.17087277e0))))))))
        )) AS normal_p
    FROM (SELECT *, 1e0 / (1e0 + 0.5e0 * v) AS t FROM rated) AS r
),
ranked AS (
    SELECT
        *, CAST(count(*) OVER (PARTITION BY family_id, is_tested) AS BIGINT) AS m,
        row_number() OVER (PARTITION BY family_id, is_tested ORDER BY p, series_id)
            AS rk
    FROM (
        SELECT
            n.*, coalesce(y.p, 0e0) AS least_p,
            coalesce(x.p, CASE
                WHEN y.p IS NULL THEN n.normal_p ELSE greatest(n.normal_p, 0.2e0)
            END) AS p
        FROM normal AS n
        LEFT JOIN mann_whitney_exact AS x
            ON n.level <> 'pool'
            AND x.n_small = least(n.base_count, n.head_count)
            AND x.n_large = greatest(n.base_count, n.head_count)
            AND x.u = ceil(n.base_count * n.head_count / 2 - abs(n.excess))
        LEFT JOIN mann_whitney_exact AS y
            ON n.level <> 'pool'
            AND y.n_small = least(n.base_count, n.head_count)
            AND y.n_large = greatest(n.base_count, n.head_count)
            AND y.u = 0
    ) AS e
)
SELECT
    series_id, is_tested, least_p,
    CAST(sum(CASE WHEN is_above THEN 1 ELSE 0 END) OVER (
        PARTITION BY family_id
    ) AS BIGINT) AS rival_count,
    m AS test_count,
    max(has_base) OVER (PARTITION BY family_id) AS base_ran,
    max(has_head) OVER (PARTITION BY family_id) AS head_ran,
    CASE WHEN is_tested THEN least(1e0, min(p * m / rk) OVER (
        PARTITION BY family_id, is_tested ORDER BY rk DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )) END AS p_adjusted
FROM ranked
