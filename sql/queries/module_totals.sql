-- module_totals: Time spent in each module of the program, per run.
--
-- Needs ETRecords: dumps without one are left out. Kernels and delegates of complete
-- runs (with a Method::execute and without a flagged event) count if they run nodes of
-- the module; an event of several modules counts in full for each. The call of a
-- delegate and the events inside it never both count: the call counts if all its nodes
-- are in the module, else the events inside it that the ETRecord can place.
--
-- params:
--   module   STRING[] OF event_modules.module_path = NULL  Only this module, e.g.
--                              layers.0.attn or 'layers.*'; '' is the whole program.
--   scope    STRING(total|own) = 'total'  Time of the module with all inside it, or of
--                              its own nodes alone.
--
-- filters: grouped_dumps
--
-- parts: places
--
-- portions: device
--
-- next: layer_hotspots
--
-- columns:
--   device, pool, build, model, backend, group
--   module_path  STRING  The module; '' is the whole program.
--   module_type
--   run_count    BIGINT  Complete runs of dumps with an ETRecord.
--   event_count  BIGINT  Events counted, at least 1.
--   run_ns       DOUBLE  Time in the module per run, nanoseconds; null in cycles of
--                        unknown rate; lower is better.
--   time_share   DOUBLE  Time in the module over Method::execute, 0 to 1.
WITH times AS (
    SELECT
        d.place_id, m.module_path, max(m.module_type) AS module_type,
        CAST(sum(t.event_count) AS BIGINT) AS event_count,
        whole_sum(t.total_ns) AS total_ns
    FROM complete_run_totals AS t
    JOIN grouped_dumps AS d ON d.dump_id = t.dump_id
    JOIN event_modules AS m ON m.etrecord_id = d.etrecord_id AND same_event(m, t)
    WHERE is_chosen(:module, m.module_path)
        AND CASE CAST(:scope AS STRING) WHEN 'own' THEN m.is_own ELSE m.is_total END
    GROUP BY d.place_id, m.module_path
)
SELECT
    p.device, p.pool, p.build, p.model, p.backend, p.group_value AS group,
    t.module_path, t.module_type, p.recorded_run_count AS run_count, t.event_count,
    t.total_ns / p.recorded_run_count AS run_ns,
    part_of(t.total_ns, p.recorded_execute_ns) AS time_share
FROM times AS t
JOIN places AS p ON p.place_id = t.place_id
ORDER BY p.place_id, t.module_path
