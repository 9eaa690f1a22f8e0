-- token_latency: Speed of a language model in reading a prompt and writing tokens.
--
-- For models that execute once per token, in complete runs (with a Method::execute and
-- without a flagged event). Only dumps of models that generate count: those with two
-- kinds of executions or more, and those whose manifest has the tag decode_method. The
-- decoding runs of a dump are those of its most frequent run signature, or of the later
-- one of two that are equally frequent; runs of other signatures are prompts. The tag
-- names the decoding runs instead: by the name of the runs ('Execute #2', see
-- named_run_signatures), or, with an ETRecord, by the method. A turn is a prompt and
-- the tokens after it. If all runs are alike, the first run is the prompt. Times are
-- those of Method::execute; time between runs, such as for sampling, counts in
-- paced_tokens_per_second only. If a row has dumps in cycles of unknown rate, all its
-- times are null: untimed_count is their number.
--
-- params:
--   step  INT(1..) = NULL  One row for so many positions in a turn: 1 to step, then
--                          step + 1 to 2 step, ...; one for all by default.
--
-- filters: grouped_dumps
--
-- parts: token_dumps, decoded_tokens
--
-- portions: device
--
-- columns:
--   device, pool, build, model, backend, group
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
--   p90_ns, p99_ns
--   tokens_per_second        DOUBLE  Tokens over the sum of their times; higher is
--                                    better.
--   paced_tokens_per_second  DOUBLE  Tokens over the time from one start to the next;
--                                    null for lone tokens.
--   drift_ns                 DOUBLE  By how much a token takes longer than the one
--                                    before, as a straight line through a turn's tokens
--                                    has it: median over turns of 3 tokens or more.
--   untimed_count
WITH tokens AS (
    SELECT
        *, place - (place - 1) % coalesce(CAST(:step AS INT), place) AS position
    FROM decoded_tokens
    WHERE dump_id IN (SELECT dump_id FROM token_dumps)
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
