-- tested: The rows of compared, with the probability that each change is an accident.
--
-- Reads scored, which has the columns of compared. The probabilities are adjusted by
-- Benjamini-Hochberg within a family.
--
-- columns:
--   series_id
--   is_tested    BOOLEAN  Whether it has 8 dumps a side and is above its floor.
--   rival_count  BIGINT   Series of the family that are tested, or would be with more
--                         dumps.
--   test_count   BIGINT   Series of the family that are tested.
--   base_ran     INT      Whether the base has anything of the family.
--   head_ran     INT      Whether the head has.
--   mode_p       DOUBLE   Likewise for the share of slow processes (Bonferroni); null
--                         without two modes.
--   p_adjusted
--   scatter      DOUBLE   Standard deviation of the changes of series that share its
--                         state of the device, by their median deviation; null where
--                         values have that state.
WITH rated AS (
    SELECT
        *, is_above AND least(base_count, head_count) >= 8 AS is_tested,
        CASE WHEN is_above AND state_shift IS NOT NULL THEN shift END AS own_shift
    FROM (
        SELECT
            series_id, family_id, has_base, has_head, base_count, head_count,
            results.p AS p, results.shift AS shift, results.mode_p AS mode_p,
            state_shift,
            kind IN ('delegate_op', 'delegate_call') AS is_delegated,
            coalesce(greatest(base_value, head_value) >= floor, FALSE) AS is_above
        FROM scored
    ) AS s
),
centred AS (
    SELECT
        *, abs(own_shift - median(own_shift) OVER (
            PARTITION BY family_id, is_delegated
        )) AS distance
    FROM rated
),
ranked AS (
    SELECT
        *, CAST(count(*) OVER (PARTITION BY family_id, is_tested) AS BIGINT) AS m,
        row_number() OVER (PARTITION BY family_id, is_tested ORDER BY p, series_id)
            AS rk
    FROM centred
)
SELECT
    series_id, is_tested,
    CAST(sum(CASE WHEN is_above THEN 1 ELSE 0 END) OVER (
        PARTITION BY family_id
    ) AS BIGINT) AS rival_count,
    m AS test_count,
    max(has_base) OVER (PARTITION BY family_id) AS base_ran,
    max(has_head) OVER (PARTITION BY family_id) AS head_ran,
    mode_p * count(mode_p) OVER (PARTITION BY family_id) AS mode_p,
    CASE WHEN is_tested THEN least(1e0, min(p * m / rk) OVER (
        PARTITION BY family_id, is_tested ORDER BY rk DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )) END AS p_adjusted,
    CASE WHEN own_shift IS NOT NULL THEN 1.4826e0 * median(distance) OVER (
        PARTITION BY family_id, is_delegated
    ) END AS scatter
FROM ranked
