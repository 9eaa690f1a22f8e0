-- loads: What dumps log of loading methods.
--
-- Reads grouped_dumps, their numbers alone. A program's methods add up.
--
-- columns:
--   dump_id     INT     Number of the dump.
--   load_count  BIGINT  Methods that were loaded.
--   load_ns     DOUBLE  Program::load_method, nanoseconds; null without any and in
--                       cycles of unknown rate.
--   init_ns     DOUBLE  Method::init, which is a part of that, likewise.
SELECT
    s.dump_id,
    CAST(sum(
        CASE WHEN s.event_name = 'Method::init' THEN s.sample_count ELSE 0 END
    ) AS BIGINT) AS load_count,
    exact_sum(CASE WHEN s.event_name = 'Program::load_method' THEN s.sum_ns END)
        AS load_ns,
    exact_sum(CASE WHEN s.event_name = 'Method::init' THEN s.sum_ns END) AS init_ns
FROM named_event_stats AS s
JOIN grouped_dumps AS g ON g.dump_id = s.dump_id
WHERE s.kind = 'load'
GROUP BY s.dump_id
