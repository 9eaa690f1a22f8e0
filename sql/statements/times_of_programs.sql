-- Median times of the events of programs ($steps: device, build, model, backend and program), in
-- nanoseconds, or in ticks of a clock of unknown rate.
SELECT
    t.step, x.event_signature_id AS id,
    median(coalesce(x.steady_p50_ticks, x.p50_ticks) * coalesce(tick_ns(s, d), 1e0)) AS ns
FROM steps AS t
JOIN devices AS v ON v.name = t.device
JOIN models AS m ON m.name = t.model AND m.backend IS NOT DISTINCT FROM t.backend
JOIN builds AS b ON b.name = t.build
JOIN dumps AS d
    ON d.device_id = v.device_id AND d.model_id = m.model_id AND d.build_id = b.build_id
JOIN event_stats AS x ON x.dump_id = d.dump_id AND x.run_signature_id = t.program
JOIN named_event_signatures AS s ON s.event_signature_id = x.event_signature_id
GROUP BY t.step, x.event_signature_id
