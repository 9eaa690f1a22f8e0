-- The module whose own nodes each operator of a build ($head) runs: a row per operator with one.
SELECT
    o.device, o.model, o.backend, o.run, o.event_name, o.delegate_id, o.ordinal,
    min(m.module_path) AS module_path
FROM operator_stats AS o
JOIN dumps AS d ON d.dump_id = o.dump_id
JOIN event_modules AS m ON m.etrecord_id = d.etrecord_id AND same_event(m, o)
WHERE o.build = $head AND m.is_own
GROUP BY o.device, o.model, o.backend, o.run, o.event_name, o.delegate_id, o.ordinal
HAVING min(m.module_path) = max(m.module_path)
