-- Values of the methods, delegate calls and operators of some dumps, by signature of their runs: in
-- ns, or in ticks of a clock of unknown rate. A value is that of comparisons, and null with too few
-- events; p50 is the median of all events. Rows of a run are in the order of its events.
SELECT
    x.dump_id, x.run_signature_id, x.event_signature_id, f.run_name, f.first_index, s.kind,
    s.event_name, s.delegate_id, s.instruction_id, s.op_type,
    CASE WHEN tick_ns(s, d) IS NULL THEN 'ticks' ELSE 'ns' END AS unit,
    CASE WHEN x.steady_count >= 20 THEN x.steady_grouped_ticks END
        * coalesce(tick_ns(s, d), 1e0) AS value,
    x.p50_ticks * coalesce(tick_ns(s, d), 1e0) AS p50
FROM event_stats AS x
JOIN dumps AS d ON d.dump_id = x.dump_id
JOIN named_event_signatures AS s ON s.event_signature_id = x.event_signature_id
JOIN run_signatures AS g ON g.run_signature_id = x.run_signature_id
JOIN (
    SELECT dump_id, run_signature_id, min(name) AS run_name, min(run_index) AS first_index
    FROM runs
    WHERE dump_id IN (SELECT unnest($dumps))
    GROUP BY dump_id, run_signature_id
) AS f ON f.dump_id = x.dump_id AND f.run_signature_id = x.run_signature_id
WHERE x.dump_id IN (SELECT unnest($dumps)) AND (s.unit IS NULL OR s.unit_ns IS NOT NULL)
ORDER BY x.dump_id, f.first_index, list_position(g.events, x.event_signature_id)
