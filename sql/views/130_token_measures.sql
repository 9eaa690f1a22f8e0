-- token_measures: Speed of each dump of a language model: prompt and decoding.
--
-- parts: token_dumps AS grouped_dumps, decoded_tokens
--
-- columns:
--   dump_id
--   first_token_ns     DOUBLE  Time of the prompt's runs, the median over turns,
--                              nanoseconds; null without a prompt.
--   tokens_per_second  DOUBLE  Tokens that are decoded in a second, by the median time
--                              of one.
SELECT
    t.dump_id,
    median(CASE WHEN t.place = 1 THEN t.prompt_ticks END) * d.ns_per_tick
        AS first_token_ns,
    1e9 / nullif(median(t.execute_ticks) * d.ns_per_tick, 0e0) AS tokens_per_second
FROM decoded_tokens AS t
JOIN dumps AS d ON d.dump_id = t.dump_id
WHERE d.ns_per_tick IS NOT NULL
GROUP BY t.dump_id, d.ns_per_tick
