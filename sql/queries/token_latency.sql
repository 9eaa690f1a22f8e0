-- token_latency: How fast a language model reads a prompt and writes tokens.
--
-- For models that execute once per token, in complete runs (with a Method::execute and
-- without a flagged event). The decoding runs of a dump are those of its commonest run
-- signature, of the later one if two are as common; those of others are prompts. A
-- manifest that has the tag decode_method says instead which decode: the runs of this
-- name ('Execute #2', see named_run_signatures), or, with an ETRecord, of this method.
-- A turn is a prompt and the tokens after it. Where all runs are alike, for one method
-- does both, the first run is the prompt. Times are those of Method::execute; what lies
-- between runs, such as sampling, counts in paced_tokens_per_second only. Where a row
-- has dumps in cycles of unknown rate, all its times are null: untimed_count says how
-- many there are.
--
-- params:
--   step  INT(1..) = NULL  One row for so many positions in a turn: 1 to step, then
--                          step + 1 to 2 step, ...; one for all by default.
--
-- filters: grouped_dumps
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
--   untimed_count            BIGINT  Dumps of the row in cycles of unknown rate.
WITH chosen_runs AS (
    SELECT
        t.dump_id, t.run_index, r.run_signature_id, r.start_ticks, t.execute_ticks
    FROM run_totals AS t
    JOIN runs AS r ON r.dump_id = t.dump_id AND r.run_index = t.run_index
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
                try_element_at(
                    from_json(tags, 'MAP<STRING, STRING>'), 'decode_method'
                ),
                try_element_at(
                    from_json(tags, 'MAP<STRING, STRING>'), 'model.decode_method'
                )
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
        ON n.dump_id = s.dump_id AND n.run = s.decode_method
    UNION
    SELECT s.dump_id, o.run_signature_id
    FROM stated AS s
    JOIN event_origins AS o
        ON o.etrecord_id = s.etrecord_id AND o.method = s.decode_method
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
),
placed AS (
    SELECT
        t.dump_id, t.turn, t.execute_ticks, t.pace_ticks, p.prompt_ticks,
        CAST(t.nth - p.last_before AS BIGINT) AS place
    FROM turned AS t
    JOIN prompts AS p ON p.dump_id = t.dump_id AND p.turn = t.turn
    WHERE t.is_prompt = 0
),
tokens AS (
    SELECT
        *, place - (place - 1) % coalesce(CAST(:step AS INT), place) AS position
    FROM placed
),
turns AS (
    SELECT
        dump_id, turn, position,
        CASE
            WHEN count(*) >= 3
            THEN (count(*) * sum(away * execute_ticks) - sum(away) * sum(execute_ticks))
                / (count(*) * sum(away * away) - sum(away) * sum(away))
        END AS drift_ticks
    FROM (
        SELECT *, CAST(place - position AS DOUBLE) AS away
        FROM tokens
    ) AS p
    GROUP BY dump_id, turn, position
),
timed AS (
    SELECT
        d.device, d.pool, d.build, d.model, d.backend, d.group_value, t.position,
        t.dump_id, t.turn, CASE WHEN d.ns_per_tick IS NULL THEN t.dump_id END
            AS untimed_dump,
        t.execute_ticks * d.ns_per_tick AS token_ns,
        CASE
            WHEN t.pace_ticks > 0
            THEN CAST(t.pace_ticks AS DOUBLE) * d.ns_per_tick
        END AS pace_ns,
        CASE WHEN t.place = 1 THEN t.prompt_ticks * d.ns_per_tick END AS prompt_ns,
        CASE
            WHEN t.place = t.position
            THEN u.drift_ticks * d.ns_per_tick
        END AS drift_ns
    FROM tokens AS t
    JOIN turns AS u
        ON u.dump_id = t.dump_id AND u.turn = t.turn AND u.position = t.position
    JOIN grouped_dumps AS d ON d.dump_id = t.dump_id
),
rows_of_turns AS (
    SELECT
        device, pool, build, model, backend, group_value, position,
        count(DISTINCT dump_id) AS dump_count,
        count(DISTINCT (dump_id, turn)) AS turn_count, count(*) AS token_count,
        median(prompt_ns) AS first_token_ns,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY token_ns) AS p50_ns,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY token_ns) AS p90_ns,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY token_ns) AS p99_ns,
        1e9 * count(token_ns) / nullif(exact_sum(token_ns), 0e0) AS tokens_per_second,
        1e9 * count(pace_ns) / nullif(exact_sum(pace_ns), 0e0)
            AS paced_tokens_per_second,
        median(drift_ns) AS drift_ns, count(DISTINCT untimed_dump) AS untimed_count
    FROM timed
    GROUP BY device, pool, build, model, backend, group_value, position
)
SELECT
    device, pool, build, model, backend, group_value AS group,
    CAST(position AS INT) AS position, dump_count, turn_count, token_count,
    CASE WHEN untimed_count = 0 THEN first_token_ns END AS first_token_ns,
    CASE WHEN untimed_count = 0 THEN p50_ns END AS p50_ns,
    CASE WHEN untimed_count = 0 THEN p90_ns END AS p90_ns,
    CASE WHEN untimed_count = 0 THEN p99_ns END AS p99_ns,
    CASE WHEN untimed_count = 0 THEN tokens_per_second END AS tokens_per_second,
    CASE WHEN untimed_count = 0 THEN paced_tokens_per_second END
        AS paced_tokens_per_second,
    CASE WHEN untimed_count = 0 THEN drift_ns END AS drift_ns, untimed_count
FROM rows_of_turns
ORDER BY
    device NULLS LAST, pool NULLS LAST, build, model, backend NULLS LAST,
    group_value NULLS LAST, position
