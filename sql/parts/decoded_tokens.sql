-- decoded_tokens: The tokens that dumps of language models write, by turn.
--
-- Reads only dump_id of grouped_dumps. token_latency defines a token.
--
-- columns:
--   dump_id
--   turn           BIGINT  Turn in the dump, from 1; 0 before any prompt.
--   place          BIGINT  Position of the token in its turn, from 1.
--   execute_ticks  DOUBLE  Its Method::execute, ticks.
--   pace_ticks     DOUBLE  Time from its start to the next one's; null for the last one
--                          of a turn.
--   prompt_ticks   DOUBLE  The prompt's runs of its turn; null without any.
WITH unplaced AS (
    -- Events with a unit mostly start at 0, so the start of their run would be wrong.
    SELECT DISTINCT l.run_signature_id
    FROM (
        SELECT run_signature_id, explode(events) AS event_signature_id
        FROM run_signatures
    ) AS l
    JOIN event_signatures AS s ON s.event_signature_id = l.event_signature_id
    WHERE s.unit IS NOT NULL
),
chosen_runs AS (
    SELECT
        t.dump_id, t.run_index, r.run_signature_id, t.execute_ticks,
        CASE WHEN u.run_signature_id IS NULL THEN r.start_ticks END AS start_ticks
    FROM run_totals AS t
    JOIN runs_of(grouped_dumps) AS r
        ON r.dump_id = t.dump_id AND r.run_index = t.run_index
    LEFT JOIN unplaced AS u ON u.run_signature_id = r.run_signature_id
    WHERE t.dump_id IN (SELECT dump_id FROM grouped_dumps)
),
alike AS (
    SELECT
        dump_id, run_signature_id, count(*) AS run_count, min(run_index) AS first_index
    FROM chosen_runs
    GROUP BY dump_id, run_signature_id
),
stated AS (
    SELECT dump_id, etrecord_id, decode_method
    FROM (
        SELECT
            dump_id, etrecord_id, coalesce(
                tag_of(tags, 'decode_method'), tag_of(tags, 'model.decode_method')
            ) AS decode_method
        FROM named_dumps
        WHERE dump_id IN (SELECT dump_id FROM grouped_dumps)
    ) AS d
    WHERE decode_method IS NOT NULL
),
decoding AS (
    SELECT s.dump_id, n.run_signature_id
    FROM stated AS s
    JOIN named_run_signatures AS n
        ON n.dump_id = s.dump_id
        AND n.run IN (s.decode_method, s.decode_method || ' (short)')
    UNION
    SELECT s.dump_id, o.run_signature_id
    FROM stated AS s
    JOIN event_origins AS o
        ON o.etrecord_id = s.etrecord_id AND o.method = s.decode_method
    JOIN run_signatures AS g ON g.run_signature_id = o.run_signature_id
    WHERE coalesce(g.length, '') <> 'long'
),
ranked AS (
    SELECT
        a.*, s.dump_id IS NOT NULL AS is_stated,
        CASE WHEN d.dump_id IS NULL THEN 1 ELSE 0 END AS is_stated_prompt,
        sum(a.run_count) OVER (PARTITION BY a.dump_id) AS all_count,
        rank() OVER (PARTITION BY a.dump_id ORDER BY a.run_count DESC) AS commonness
    FROM alike AS a
    LEFT JOIN stated AS s ON s.dump_id = a.dump_id
    LEFT JOIN decoding AS d
        ON d.dump_id = a.dump_id AND d.run_signature_id = a.run_signature_id
),
marked AS (
    SELECT
        *, max(CASE WHEN commonness = 1 THEN first_index END) OVER (
            PARTITION BY dump_id
        ) AS decode_index
    FROM ranked
),
phased AS (
    SELECT
        r.dump_id, r.run_index, r.start_ticks, r.execute_ticks,
        CASE
            WHEN m.is_stated AND (m.is_stated_prompt = 1 OR m.run_count < m.all_count)
                THEN m.is_stated_prompt
            WHEN m.commonness > 1 OR m.first_index < m.decode_index
                OR (r.run_index = m.first_index AND m.run_count = m.all_count)
            THEN 1
            ELSE 0
        END AS is_prompt
    FROM chosen_runs AS r
    JOIN marked AS m
        ON m.dump_id = r.dump_id AND m.run_signature_id = r.run_signature_id
),
started AS (
    SELECT
        dump_id, run_index, execute_ticks, is_prompt,
        row_number() OVER in_order AS nth,
        CASE
            WHEN is_prompt = 1 AND coalesce(lag(is_prompt) OVER in_order, 0) = 0 THEN 1
            ELSE 0
        END AS is_start,
        CASE
            WHEN lead(is_prompt) OVER in_order = 0
            THEN (lead(start_ticks) OVER in_order) - start_ticks
        END AS pace_ticks
    FROM phased
    WINDOW in_order AS (PARTITION BY dump_id ORDER BY run_index)
),
turned AS (
    SELECT
        *, sum(is_start) OVER (
            PARTITION BY dump_id ORDER BY nth
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS turn
    FROM started
),
-- The runs of a turn are its prompt's, then its tokens.
prompts AS (
    SELECT
        dump_id, turn, min(nth) + sum(is_prompt) - 1 AS last_before,
        sum(CASE WHEN is_prompt = 1 THEN execute_ticks END) AS prompt_ticks
    FROM turned
    GROUP BY dump_id, turn
)
SELECT
    t.dump_id, CAST(t.turn AS BIGINT) AS turn,
    CAST(t.nth - p.last_before AS BIGINT) AS place,
    t.execute_ticks, CAST(t.pace_ticks AS DOUBLE) AS pace_ticks, p.prompt_ticks
FROM turned AS t
JOIN prompts AS p ON p.dump_id = t.dump_id AND p.turn = t.turn
WHERE t.is_prompt = 0
