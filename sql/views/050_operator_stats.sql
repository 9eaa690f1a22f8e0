-- operator_stats: Statistics per dump and operator, with keys stable across builds.
--
-- An operator is the same in two builds if run, event_name, delegate_id and ordinal are
-- the same. These are the names of the newest program: see aligned_operators. If a dump
-- has several signatures of one operator in runs of one name (with and without logged
-- values), the row is that of the signatures with the most events after warm-up.
--
-- Times are compared in `unit`: nanoseconds, or ticks if a clock's rate is unknown, for
-- a ratio of two times needs no rate.
--
-- columns:
--   dump_id, captured_at, device, pool, build, build_role, model, backend, run,
--   event_name, delegate_id
--   ordinal       INT     1 for the run's first instruction of that name and delegate
--                         id, then 2, ...
--   instruction_id, kind, run_signature_id, event_signature_id
--   sample_count  BIGINT  Events counted (flagged ones left out), at least 1.
--   p50_ns        DOUBLE  Median; null in cycles of unknown rate, like all that ends in
--                         _ns.
--   steady_count, steady_p50_ns
--   value_ns      DOUBLE  The dump's value in comparisons: the grouped median after
--                         warm-up, if at least 20 events are left, else null.
--   floor_ns      DOUBLE  Least time that can be compared: 2 steps of the clock that
--                         timed the events, at least 1 us.
--   unit
--   value         DOUBLE  value_ns in that unit.
--   floor         DOUBLE  floor_ns in that unit; 2 steps of a clock of unknown rate.
--   half_tick     DOUBLE  Half the resolution of the events' clock, in that unit: less
--                         is no difference.
--   op_type, module_path
WITH signatures AS (
    SELECT dump_id, run_signature_id, run, has_variants FROM named_run_signatures
),
-- Rows of signatures that others of the same operator in the dump stand for. Few runs
-- have such a twin.
outdone AS (
    SELECT dump_id, run_signature_id, event_signature_id
    FROM (
        SELECT
            x.dump_id, x.run_signature_id, x.event_signature_id,
            row_number() OVER (
                PARTITION BY
                    x.dump_id, r.run, s.event_name, s.delegate_id, s.instruction_id
                ORDER BY
                    x.steady_count DESC, x.sample_count DESC, x.event_signature_id,
                    x.run_signature_id
            ) AS choice
        FROM event_stats AS x
        JOIN signatures AS r
            ON r.dump_id = x.dump_id AND r.run_signature_id = x.run_signature_id
        JOIN named_event_signatures AS s
            ON s.event_signature_id = x.event_signature_id
        WHERE r.has_variants
    ) AS c
    WHERE choice > 1
)
SELECT
    t.dump_id, t.captured_at, t.device, t.pool, t.build, t.build_role, t.model,
    t.backend, t.run, t.event_name, t.delegate_id, t.ordinal, t.instruction_id, t.kind,
    t.run_signature_id, t.event_signature_id, t.sample_count,
    t.p50_ticks * t.tick_ns AS p50_ns,
    t.steady_count, t.steady_p50_ticks * t.tick_ns AS steady_p50_ns,
    t.value_ticks * t.tick_ns AS value_ns,
    CASE
        WHEN t.tick_ns IS NULL THEN NULL
        ELSE greatest(2 * t.resolution_ticks * t.tick_ns, 1e3)
    END AS floor_ns,
    CASE WHEN t.tick_ns IS NULL THEN 'ticks' ELSE 'ns' END AS unit,
    t.value_ticks * coalesce(t.tick_ns, 1e0) AS value,
    CASE
        WHEN t.tick_ns IS NULL THEN 2 * t.resolution_ticks
        ELSE greatest(2 * t.resolution_ticks * t.tick_ns, 1e3)
    END AS floor,
    t.resolution_ticks * coalesce(t.tick_ns, 1e0) / 2 AS half_tick, t.op_type,
    t.module_path
FROM (
    SELECT
        x.*, d.captured_at, v.name AS device, v.pool, b.name AS build,
        b.role AS build_role, m.name AS model, m.backend, r.run,
        coalesce(a.event_name, s.event_name) AS event_name,
        CASE WHEN a.event_name IS NULL THEN s.delegate_id ELSE a.delegate_id END
            AS delegate_id,
        coalesce(a.ordinal, o.ordinal) AS ordinal, s.instruction_id,
        coalesce(a.kind, s.kind) AS kind,
        CASE WHEN a.event_name IS NULL THEN s.op_type ELSE a.op_type END AS op_type,
        p.module_path,
        CASE WHEN x.steady_count >= 20 THEN x.steady_grouped_ticks END AS value_ticks,
        tick_ns(s, d) AS tick_ns,
        resolution_ticks(s, d) AS resolution_ticks
    FROM event_stats AS x
    JOIN dumps AS d ON d.dump_id = x.dump_id
    JOIN devices AS v ON v.device_id = d.device_id
    JOIN builds AS b ON b.build_id = d.build_id
    JOIN models AS m ON m.model_id = d.model_id
    JOIN signatures AS r
        ON r.dump_id = x.dump_id AND r.run_signature_id = x.run_signature_id
    JOIN named_event_signatures AS s ON s.event_signature_id = x.event_signature_id
    -- Left joins come after the joins with dumps. DuckDB estimates an inner join by
    -- several keys a hundred times too small, and would begin with it, over all dumps.
    LEFT JOIN program_events AS o ON same_event(o, x)
    LEFT JOIN aligned_operators AS a ON same_event(a, x) AND a.run = r.run
        AND a.model = m.name AND a.backend IS NOT DISTINCT FROM m.backend
    LEFT JOIN outdone AS w ON w.dump_id = x.dump_id AND same_event(w, x)
    LEFT JOIN own_modules AS p ON p.etrecord_id = d.etrecord_id AND same_event(p, x)
    WHERE (s.unit IS NULL OR s.unit_ns IS NOT NULL)
        AND w.dump_id IS NULL
) AS t
