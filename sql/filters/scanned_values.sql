-- scanned_values: Values of operators with the build where they most likely changed.
--
-- Each of the last 8 builds of an operator on a device that has another one after it is
-- tried as the first of a new level, by a two-sided Mann-Whitney test of up to 10
-- builds before it against those from it on. The one of the greatest z counts.
--
-- filters: operator_values
--
-- columns:
--   dump_id      INT     Number of the dump.
--   device       STRING  Name of the device.
--   model        STRING  Name of the model.
--   backend      STRING  Backend of the model; null if none.
--   run          STRING  Name of the runs that holds across builds.
--   event_name   STRING  Name of the operator, else its delegate id.
--   delegate_id  STRING  Delegate debug id; null outside delegates.
--   ordinal      INT     Which of the build's instructions of that name and delegate
--                        id, from 1.
--   build        STRING  Id of the build.
--   back         BIGINT  1 for the operator's last build on the device, 2 for the one
--                        before, ...
--   series_id    BIGINT  Numbers device, model, backend, run, operator and unit.
--   unit         STRING  ns; ticks where the clock's rate is unknown.
--   value        DOUBLE  Value of the dump in that unit.
--   floor        DOUBLE  Least value that can be compared.
--   y            DOUBLE  Natural logarithm of the value.
--   split        INT     The first build of the new level, counted like back; null with
--                        fewer than 3 builds, as is what follows.
--   z            DOUBLE  Of the test there, normal, at least 0.
--   exact_p      DOUBLE  p of the test by the exact distribution: up to 30 dumps a side
--                        and where it is at most 0.2; else null.
--   reach        DOUBLE  Greatest z that so many dumps could give.
--   is_after     INT     1 from that build on, 0 in up to 10 builds before, null
--                        further back.
WITH splits AS (
    SELECT
        v.series_id, p.split, v.y,
        CASE WHEN v.back <= p.split THEN 1 ELSE 0 END AS is_after
    FROM operator_values AS v
    JOIN (VALUES (2), (3), (4), (5), (6), (7), (8)) AS p (split)
        ON v.back <= p.split + 10
),
ranks AS (
    SELECT
        series_id, split, is_after,
        rank() OVER (PARTITION BY series_id, split ORDER BY y) AS r,
        count(*) OVER (PARTITION BY series_id, split, y) AS t
    FROM splits
),
-- U by ranks, which equal values share.
sums AS (
    SELECT
        series_id, split, CAST(sum(1 - is_after) AS DOUBLE) AS n1,
        CAST(sum(is_after) AS DOUBLE) AS n2, sum(t * t - 1e0) AS ties,
        sum(is_after * (r + (t - 1) / 2)) - sum(is_after) * (sum(is_after) + 1) / 2
            AS u
    FROM ranks
    GROUP BY series_id, split
    HAVING sum(1 - is_after) > 0
),
scores AS (
    SELECT
        series_id, split, n1, n2, u,
        coalesce(greatest(abs(u - n1 * n2 / 2) - 5e-1, 0e0) / nullif(sqrt(
            greatest(n1 + n2 + 1 - ties / ((n1 + n2) * (n1 + n2 - 1)), 0e0)
            * n1 * n2 / 12
        ), 0e0), 0e0) AS z,
        (n1 * n2 - 1) / sqrt(n1 * n2 * (n1 + n2 + 1) / 3) AS reach
    FROM sums
),
best AS (
    SELECT series_id, split, z, reach, x.p AS exact_p
    FROM (
        SELECT
            series_id, split, n1, n2, u, z,
            max(reach) OVER (PARTITION BY series_id) AS reach,
            row_number() OVER (PARTITION BY series_id ORDER BY z DESC, split) AS choice
        FROM scores
    ) AS c
    LEFT JOIN mann_whitney_exact AS x
        ON x.n_small = least(n1, n2) AND x.n_large = greatest(n1, n2)
        AND x.u = ceil(least(c.u, n1 * n2 - c.u))
    WHERE choice = 1
)
SELECT
    v.dump_id, v.device, v.model, v.backend, v.run, v.event_name, v.delegate_id,
    v.ordinal, v.build, v.back, v.series_id, v.unit, v.value, v.floor, v.y,
    b.split, b.z, b.exact_p, b.reach,
    CASE WHEN v.back <= b.split THEN 1 WHEN v.back <= b.split + 10 THEN 0 END
        AS is_after
FROM operator_values AS v
LEFT JOIN best AS b ON b.series_id = v.series_id
