-- regression_deltas: Operators of two builds compared, with a verdict for each.
--
-- The sample is the dump: its value is the median of the operator after warm-up (from
-- the sixth run on), if at least 20 events are left. Two-sided Mann-Whitney test (exact
-- up to 30 dumps a side, else normal), Hodges-Lehmann ratio with its 99 % interval,
-- Benjamini-Hochberg per device, model and backend. Operators are matched by name,
-- delegate id and ordinal: ids shift when one is inserted.
--
-- Verdicts, the first that applies: new_op, removed_op (the other build ran here
-- without it), insufficient_data (fewer than 8 dumps in a build), below_resolution
-- (base under 10 ticks of its clock, or 1 us), insufficient_data (too few dumps for a
-- lone difference to stand out among so many operators), regression, improvement
-- (p_adjusted <= q and a change of min_change or more), unchanged. Sound as an alarm
-- only if the builds were recorded interleaved: a change of the device's state between
-- two sessions looks like a change of code.
--
-- params:
--   base        STRING OF builds.name          Build to compare with.
--   head        STRING(<>base) OF builds.name  Build in question.
--   q           DOUBLE(0..1) = 0.01            Share of false alarms accepted among
--                                              alarms.
--   min_change  DOUBLE(0..) = 0.03             Smallest change that counts, as a share.
--
-- filters: chosen_dumps without build
--
-- columns:
--   device              STRING  Name of the device.
--   model               STRING  Name of the model.
--   backend             STRING  Backend of the model; null if none.
--   event_name          STRING  Name of the operator, else its delegate id.
--   delegate_id         STRING  Delegate debug id; null outside delegates.
--   ordinal             INT     Which of the build's instructions of that name and
--                               delegate id, from 1.
--   base_count          BIGINT  Dumps of the base that count.
--   head_count          BIGINT  Dumps of the head that count.
--   base_ns             DOUBLE  Median of the base's dump medians, nanoseconds; null
--                               without dumps.
--   head_ns             DOUBLE  Median of the head's; lower is better.
--   delta               DOUBLE  Change as a share: 0.05 is 5 % slower (Hodges-Lehmann).
--   delta_low           DOUBLE  Lower end of its 99 % interval; null with too few dumps
--                               for one.
--   delta_high          DOUBLE  Upper end.
--   p_adjusted          DOUBLE  Share of false alarms if this were one; null where
--                               nothing was tested.
--   minimum_detectable  DOUBLE  Change the dumps could show, as a share: half the
--                               interval's width.
--   verdict             STRING  See above.
--   instruction_id      INT     Instruction id in the head; null outside the program,
--                               and for a removed_op.
--   module_path         STRING  Module whose own nodes it runs in the head, '' if the
--                               program's; null if they are several, or without an
--                               ETRecord.
WITH samples AS (
    SELECT
        dump_id, event_signature_id, device, model, backend,
        event_name, delegate_id, ordinal, instruction_id, value_ns, floor_ns,
        CASE WHEN build = CAST(:head AS STRING) THEN 1 ELSE 0 END AS is_head,
        dense_rank() OVER (ORDER BY device, model, backend) AS family_id,
        dense_rank() OVER (
            ORDER BY device, model, backend, event_name, delegate_id, ordinal
        ) AS series_id
    FROM operator_stats
    WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
        AND build IN (CAST(:base AS STRING), CAST(:head AS STRING))
        AND kind NOT IN ('operator_call', 'load')
),
series AS (
    SELECT
        family_id, series_id, device, model, backend, event_name, delegate_id, ordinal,
        max(1 - is_head) AS has_base, max(is_head) AS has_head,
        count(CASE WHEN is_head = 0 THEN value_ns END) AS base_count,
        count(CASE WHEN is_head = 1 THEN value_ns END) AS head_count,
        median(CASE WHEN is_head = 0 THEN value_ns END) AS base_ns,
        median(CASE WHEN is_head = 1 THEN value_ns END) AS head_ns,
        median(CASE WHEN is_head = 0 THEN floor_ns END) AS floor_ns,
        min(CASE WHEN is_head = 1 THEN instruction_id END) AS instruction_id
    FROM samples
    GROUP BY
        family_id, series_id, device, model, backend, event_name, delegate_id, ordinal
),
modules AS (
    SELECT
        series_id,
        CASE WHEN min(module_path) = max(module_path) THEN min(module_path) END
            AS module_path
    FROM (
        SELECT s.series_id, s.event_signature_id, d.etrecord_id
        FROM samples AS s
        JOIN dumps AS d ON d.dump_id = s.dump_id
        WHERE s.is_head = 1
        GROUP BY s.series_id, s.event_signature_id, d.etrecord_id
    ) AS h
    JOIN event_modules AS m
        ON m.etrecord_id = h.etrecord_id
        AND m.event_signature_id = h.event_signature_id
    WHERE m.is_own
    GROUP BY series_id
),
ties AS (
    SELECT series_id, sum(n * n * n - n) AS ties
    FROM (
        SELECT series_id, value_ns, CAST(count(*) AS DOUBLE) AS n
        FROM samples
        WHERE value_ns IS NOT NULL
        GROUP BY series_id, value_ns
    ) AS t
    GROUP BY series_id
),
-- Every head dump against every base dump, in log time (a time of 0 counts as 1 ns);
-- edge is the rank, from either end, of the 99 % interval's limits.
differences AS (
    SELECT
        *, row_number() OVER (PARTITION BY series_id ORDER BY d) AS k,
        greatest(1e0, floor(
            n1 * n2 / 2 - 2.575829e0 * sqrt(n1 * n2 * (n1 + n2 + 1) / 12) + 0.5e0
        )) AS edge
    FROM (
        SELECT
            s.series_id,
            CAST(s.base_count AS DOUBLE) AS n1, CAST(s.head_count AS DOUBLE) AS n2,
            ln(greatest(h.value_ns, 1e0)) - ln(greatest(b.value_ns, 1e0)) AS d
        FROM series AS s
        JOIN samples AS b ON b.series_id = s.series_id AND b.is_head = 0
        JOIN samples AS h ON h.series_id = s.series_id AND h.is_head = 1
        WHERE b.value_ns IS NOT NULL AND h.value_ns IS NOT NULL
    ) AS p
),
estimates AS (
    SELECT
        series_id, n1, n2,
        sum(CASE WHEN d > 0 THEN 1e0 WHEN d = 0 THEN 0.5e0 ELSE 0e0 END) AS u,
        median(d) AS shift,
        min(CASE WHEN k >= edge THEN d END) AS low,
        max(CASE WHEN k <= n1 * n2 + 1 - edge THEN d END) AS high
    FROM differences
    GROUP BY series_id, n1, n2
),
-- The two-sided normal p is erfc(v) with v = z / sqrt(2); the polynomial in
-- t = 1 / (1 + v / 2) gives it with a relative error below 1.2e-7.
scores AS (
    SELECT
        *, least(1e0, t * exp(
            -v * v - 1.26551223e0 + t * (1.00002368e0 + t * (0.37409196e0
            + t * (0.09678418e0 + t * (-0.18628806e0 + t * (0.27886807e0
            + t * (-1.13520398e0 + t * (1.48851587e0 + t * (-0.82215223e0
            + t * 0.17087277e0))))))))
        )) AS normal_p
    FROM (
        SELECT *, 1e0 / (1e0 + 0.5e0 * v) AS t
        FROM (
            SELECT
                e.*,
                coalesce(greatest(abs(u - n1 * n2 / 2) - 0.5e0, 0e0) / nullif(sqrt(
                    greatest(n1 + n2 + 1 - ties / ((n1 + n2) * (n1 + n2 - 1)), 0e0)
                    * n1 * n2 / 6
                ), 0e0), 0e0) AS v
            FROM estimates AS e
            JOIN ties AS t ON t.series_id = e.series_id
        ) AS a
    ) AS b
),
-- The table ends at p = 0.2 and at 30 dumps a side; least_p is the least p that samples
-- of these sizes can give.
tested AS (
    SELECT
        s.*, e.shift, e.low, e.high,
        max(s.has_base) OVER (PARTITION BY s.family_id) AS base_ran,
        max(s.has_head) OVER (PARTITION BY s.family_id) AS head_ran,
        coalesce(
            least(s.base_count, s.head_count) >= 8 AND s.base_ns >= s.floor_ns, FALSE
        ) AS is_tested,
        CASE
            WHEN greatest(s.base_count, s.head_count) > 30 THEN e.normal_p
            ELSE coalesce(x.p, greatest(e.normal_p, 0.2e0))
        END AS p,
        coalesce(y.p, 0e0) AS least_p
    FROM series AS s
    LEFT JOIN scores AS e ON e.series_id = s.series_id
    LEFT JOIN mann_whitney_exact AS x
        ON x.n_small = least(e.n1, e.n2) AND x.n_large = greatest(e.n1, e.n2)
        AND x.u = ceil(least(e.u, e.n1 * e.n2 - e.u))
    LEFT JOIN mann_whitney_exact AS y
        ON y.n_small = least(e.n1, e.n2) AND y.n_large = greatest(e.n1, e.n2)
        AND y.u = 0
),
ranked AS (
    SELECT
        *, count(*) OVER (PARTITION BY family_id, is_tested) AS m,
        row_number() OVER (PARTITION BY family_id, is_tested ORDER BY p, series_id)
            AS rk
    FROM tested
),
adjusted AS (
    SELECT
        *, CASE WHEN is_tested THEN least(1e0, min(p * m / rk) OVER (
            PARTITION BY family_id, is_tested ORDER BY rk DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )) END AS p_adjusted,
        exp(shift) - 1 AS delta,
        least(base_count, head_count) >= 5 AS has_interval
    FROM ranked
)
SELECT
    device, model, backend, event_name, delegate_id, ordinal,
    base_count, head_count, base_ns, head_ns, delta,
    CASE WHEN has_interval THEN exp(low) - 1 END AS delta_low,
    CASE WHEN has_interval THEN exp(high) - 1 END AS delta_high,
    p_adjusted,
    CASE WHEN has_interval THEN exp((high - low) / 2) - 1 END AS minimum_detectable,
    CASE
        WHEN base_ran = 1 AND has_base = 0 THEN 'new_op'
        WHEN head_ran = 1 AND has_head = 0 THEN 'removed_op'
        WHEN least(base_count, head_count) < 8 THEN 'insufficient_data'
        WHEN NOT is_tested THEN 'below_resolution'
        WHEN least_p > CAST(:q AS DOUBLE) / m THEN 'insufficient_data'
        WHEN p_adjusted > CAST(:q AS DOUBLE) OR abs(delta) < CAST(:min_change AS DOUBLE)
            THEN 'unchanged'
        WHEN delta > 0 THEN 'regression'
        ELSE 'improvement'
    END AS verdict,
    instruction_id, module_path
FROM adjusted AS a
LEFT JOIN modules AS m ON m.series_id = a.series_id
ORDER BY
    device, model, backend NULLS LAST, event_name, delegate_id NULLS LAST, ordinal
