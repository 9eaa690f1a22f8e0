-- token_latency: How fast a language model reads a prompt and writes tokens.
--
-- For models that execute once per token, in complete runs (with a Method::execute and
-- without a flagged event). The decoding runs of a dump are those of its commonest run
-- signature, of the later one if two are as common; those of others are prompts. A turn
-- is a prompt and the tokens after it. Where all runs are alike, for one method does
-- both, the first run is the prompt. Times are those of Method::execute; what lies
-- between runs, such as sampling, counts in paced_tokens_per_second only.
--
-- params:
--   step  INT(1..) = NULL  One row for so many positions in a turn: 1 to step, then
--                          step + 1 to 2 step, ...; one for all by default.
--
-- filters: grouped_runs
--
-- columns:
--   device                   STRING  Name of the device; null with group_by.
--   pool                     STRING  Device pool; null if none, and with group_by.
--   build                    STRING  Id of the build.
--   model                    STRING  Name of the model.
--   backend                  STRING  Backend of the model; null if none.
--   group                    STRING  What the dumps have of what group_by names, else
--                                    null.
--   position                 INT     First position of the row's tokens in their turn,
--                                    from 1.
--   dump_count               BIGINT  Dumps with such tokens.
--   turn_count               BIGINT  Turns with such tokens.
--   token_count              BIGINT  Tokens, at least 1.
--   first_token_ns           DOUBLE  Time to first token: the prompt's runs, median
--                                    over turns, nanoseconds; null in cycles of unknown
--                                    rate, as are all times, without a prompt, and in
--                                    rows of later positions; lower is better.
--   p50_ns                   DOUBLE  Median time of a token; lower is better.
--   p90_ns                   DOUBLE  90th percentile.
--   p99_ns                   DOUBLE  99th percentile.
--   tokens_per_second        DOUBLE  Tokens over the sum of their times; higher is
--                                    better.
--   paced_tokens_per_second  DOUBLE  Tokens over the time from one start to the next;
--                                    null for lone tokens.
--   drift_ns                 DOUBLE  By how much a token takes longer than the one
--                                    before, as a straight line through a turn's tokens
--                                    has it: median over turns of 3 tokens or more.
WITH ranked AS (
    SELECT
        g.*, r.start_ticks,
        rank() OVER (PARTITION BY g.dump_id ORDER BY g.run_count DESC) AS commonness,
        min(g.run_index) OVER (PARTITION BY g.dump_id, g.run_signature_id)
            AS first_index
    FROM grouped_runs AS g
    JOIN runs AS r ON r.dump_id = g.dump_id AND r.run_index = g.run_index
),
marked AS (
    SELECT
        *, count(*) OVER dump AS all_count,
        max(CASE WHEN commonness = 1 THEN first_index END) OVER dump AS decode_index
    FROM ranked
    WINDOW dump AS (PARTITION BY dump_id)
),
phased AS (
    SELECT
        *, CASE
            WHEN commonness > 1 OR first_index < decode_index
                OR (run_index = first_index AND run_count = all_count)
            THEN 1
            ELSE 0
        END AS is_prompt
    FROM marked
),
started AS (
    SELECT
        *, CASE
            WHEN is_prompt = 1 AND coalesce(lag(is_prompt) OVER in_order, 0) = 0 THEN 1
            ELSE 0
        END AS is_start,
        lead(is_prompt) OVER in_order AS next_is_prompt,
        (lead(start_ticks) OVER in_order) - start_ticks AS pace_ticks
    FROM phased
    WINDOW in_order AS (PARTITION BY dump_id ORDER BY run_index)
),
turned AS (
    SELECT
        *, sum(is_start) OVER (
            PARTITION BY dump_id ORDER BY run_index
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS turn
    FROM started
),
placed AS (
    SELECT
        *, row_number() OVER (
            PARTITION BY dump_id, turn, is_prompt ORDER BY run_index
        ) AS place,
        sum(CASE WHEN is_prompt = 1 THEN execute_ticks END) OVER (
            PARTITION BY dump_id, turn
        ) AS prompt_ticks
    FROM turned
),
tokens AS (
    SELECT
        *, execute_ticks * ns_per_tick AS token_ns,
        CASE WHEN next_is_prompt = 0 AND pace_ticks > 0
            THEN CAST(pace_ticks AS DOUBLE) * ns_per_tick END AS pace_ns,
        place - (place - 1) % coalesce(CAST(:step AS INT), place) AS position
    FROM placed
    WHERE is_prompt = 0
),
turns AS (
    SELECT
        dump_id, turn, position,
        ns_per_tick * CASE
            WHEN count(*) >= 3
            THEN (count(*) * sum(away * execute_ticks) - sum(away) * sum(execute_ticks))
                / (count(*) * sum(away * away) - sum(away) * sum(away))
        END AS drift_ns
    FROM (
        SELECT *, CAST(place - position AS DOUBLE) AS away
        FROM tokens
    ) AS p
    GROUP BY dump_id, turn, position, ns_per_tick
)
SELECT
    t.device, t.pool, t.build, t.model, t.backend, t.group_value AS group,
    CAST(t.position AS INT) AS position,
    count(DISTINCT t.dump_id) AS dump_count,
    count(DISTINCT (t.dump_id, t.turn)) AS turn_count, count(*) AS token_count,
    median(CASE WHEN t.place = 1 THEN t.prompt_ticks * t.ns_per_tick END)
        AS first_token_ns,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY t.token_ns) AS p50_ns,
    percentile_cont(0.9) WITHIN GROUP (ORDER BY t.token_ns) AS p90_ns,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY t.token_ns) AS p99_ns,
    1e9 * count(t.token_ns) / nullif(sum(t.token_ns), 0e0) AS tokens_per_second,
    1e9 * count(t.pace_ns) / nullif(sum(t.pace_ns), 0e0) AS paced_tokens_per_second,
    median(CASE WHEN t.place = t.position THEN u.drift_ns END) AS drift_ns
FROM tokens AS t
JOIN turns AS u
    ON u.dump_id = t.dump_id AND u.turn = t.turn AND u.position = t.position
GROUP BY t.device, t.pool, t.build, t.model, t.backend, t.group_value, t.position
ORDER BY
    t.device NULLS LAST, t.pool NULLS LAST, t.build, t.model, t.backend NULLS LAST,
    t.group_value NULLS LAST, position
