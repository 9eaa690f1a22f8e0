-- explanations: Operators that make up the change of a method or a delegate's call.
--
-- Reads verdicts. A call is timed more finely than the operators inside it, which some
-- delegates count in whole microseconds: so a call can show a change that none of its
-- operators shows.
--
-- columns:
--   series_id     BIGINT  Number of the method's or the call's series.
--   explained_by  STRING  The three operators or calls in it that add most to its
--                         change, with their shares of it; null without any.
--   may_be        STRING  Of a call that no operator explains, the three longest ones
--                         that could hide half of its change; null otherwise.
WITH parts AS (
    SELECT
        w.series_id, p.series_id AS part_id, p.cost / w.cost AS share,
        p.event_name || ' #' || CAST(p.ordinal AS STRING) AS part,
        w.kind = 'delegate_call' AND (
            p.verdict = 'below_resolution'
            OR p.verdict IN ('unchanged', 'inconclusive') AND greatest(
                sign(w.cost) * p.base_value * (CASE
                    WHEN w.cost > 0 THEN exp(p.high) ELSE exp(p.low)
                END - 1), p.half_tick
            ) >= abs(w.cost) / 2
        ) AS is_possible,
        p.base_value
    FROM verdicts AS w
    JOIN verdicts AS p
        ON p.family_id = w.family_id AND p.unit = w.unit
        AND (
            w.kind = 'method' AND p.kind IN ('kernel', 'delegate_call')
            OR w.kind = 'delegate_call' AND p.kind = 'delegate_op'
            AND p.instruction_id = w.instruction_id
        )
    WHERE w.cost <> 0
),
ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY series_id ORDER BY share DESC, part_id)
            AS place,
        row_number() OVER (
            PARTITION BY series_id, is_possible
            ORDER BY base_value DESC NULLS LAST, part_id
        ) AS guess,
        max(share) OVER (PARTITION BY series_id) AS most
    FROM parts
)
SELECT
    series_id,
    nullif(concat_ws(
        ', ',
        max(CASE WHEN place = 1 AND share > 0 THEN part || percent END),
        max(CASE WHEN place = 2 AND share > 0 THEN part || percent END),
        max(CASE WHEN place = 3 AND share > 0 THEN part || percent END)
    ), '') AS explained_by,
    nullif(concat_ws(
        ', ',
        max(CASE WHEN guess = 1 AND is_possible AND most <= 0 THEN part END),
        max(CASE WHEN guess = 2 AND is_possible AND most <= 0 THEN part END),
        max(CASE WHEN guess = 3 AND is_possible AND most <= 0 THEN part END)
    ), '') AS may_be
FROM (
    SELECT
        *, ' ' || CAST(CAST(round(100 * share) AS INT) AS STRING) || ' %' AS percent
    FROM ranked
) AS r
GROUP BY series_id
