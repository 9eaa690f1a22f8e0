-- loads: Loading of methods, as dumps log it.
--
-- Reads only dump_id of grouped_dumps. The methods of a program add up.
--
-- columns:
--   dump_id
--   load_count  BIGINT  Methods that were loaded.
--   load_ns     DOUBLE  Program::load_method, nanoseconds; null without any and in
--                       cycles of unknown rate.
--   init_ns     DOUBLE  Time of Method::init, a part of it, likewise.
SELECT
    x.dump_id,
    CAST(sum(
        CASE WHEN s.event_name = 'Method::init' THEN x.sample_count ELSE 0 END
    ) AS BIGINT) AS load_count,
    exact_sum(
        CASE
            WHEN s.event_name = 'Program::load_method' THEN x.sum_ticks * d.ns_per_tick
        END
    ) AS load_ns,
    exact_sum(
        CASE WHEN s.event_name = 'Method::init' THEN x.sum_ticks * d.ns_per_tick END
    ) AS init_ns
FROM event_stats AS x
JOIN named_event_signatures AS s ON s.event_signature_id = x.event_signature_id
JOIN dumps AS d ON d.dump_id = x.dump_id
WHERE s.kind = 'load' AND x.dump_id IN (SELECT dump_id FROM grouped_dumps)
GROUP BY x.dump_id
