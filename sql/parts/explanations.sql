-- explanations: What makes up the change of a method, or of a delegate's call.
--
-- Reads verdicts.
--
-- columns:
--   series_id     BIGINT  Number of the method's or the call's series.
--   explained_by  STRING  The three operators or calls in it that add most to its
--                         change, with their shares of it.
SELECT
    series_id, concat_ws(
        ', ', max(CASE WHEN place = 1 THEN part END),
        max(CASE WHEN place = 2 THEN part END), max(CASE WHEN place = 3 THEN part END)
    ) AS explained_by
FROM (
    SELECT
        w.series_id,
        p.event_name || ' #' || CAST(p.ordinal AS STRING) || ' '
            || CAST(CAST(round(100 * p.cost / w.cost) AS INT) AS STRING) || ' %'
            AS part,
        row_number() OVER (
            PARTITION BY w.series_id ORDER BY p.cost / w.cost DESC, p.series_id
        ) AS place
    FROM verdicts AS w
    JOIN verdicts AS p
        ON p.family_id = w.family_id AND p.unit = w.unit
        AND (
            w.kind = 'method' AND p.kind IN ('kernel', 'delegate_call')
            OR w.kind = 'delegate_call' AND p.kind = 'delegate_op'
            AND p.instruction_id = w.instruction_id
        )
    WHERE w.cost <> 0 AND p.cost * w.cost > 0
) AS r
WHERE place <= 3
GROUP BY series_id
