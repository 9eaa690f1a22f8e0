-- named_run_signatures: Run signatures of dumps with names stable across builds.
--
-- Inserting an operator changes the run signature. So runs of two builds count as the
-- same if they have the same name here: the run's own name, with '#2', '#3', ... for
-- further runs of the model on the device that have other events, such as runs that
-- write tokens and runs that read a prompt. The numbers follow the order of first
-- runs in the first build that has the signature; later builds keep them. Signatures
-- that differ only in logged values, or in the order of events, share a name.
--
-- columns:
--   dump_id, run_signature_id
--   run           STRING   Name of the run, with 'input N' for a bundled input, '#2' as
--                          above, and '(incomplete)' for a run that has no
--                          Method::execute and loads nothing.
--   run_name      STRING   Name of the run as logged; null if it has none.
--   is_execution  BOOLEAN  Whether it has a Method::execute.
--   has_variants  BOOLEAN  Whether an event has two signatures in it, or another
--                          signature has the same name on the device in the build.
WITH twins AS (
    SELECT
        s.event_signature_id, s.kind, e.is_profiled,
        min(s.event_signature_id) OVER (
            PARTITION BY s.event_name, s.instruction_id, s.delegate_id
        ) AS twin_id
    FROM named_event_signatures AS s
    JOIN event_signatures AS e ON e.event_signature_id = s.event_signature_id
),
shapes AS (
    SELECT
        g.run_signature_id, array_sort(array_agg(DISTINCT t.twin_id)) AS shape,
        max(CASE t.kind WHEN 'method' THEN 2 WHEN 'load' THEN 1 ELSE 0 END) AS rank,
        count(DISTINCT t.twin_id) AS size,
        count(t.twin_id) > count(DISTINCT t.twin_id) AS has_twins
    FROM run_signatures AS g
    LEFT JOIN (
        SELECT run_signature_id, explode(events) AS event_signature_id
        FROM run_signatures
    ) AS l ON l.run_signature_id = g.run_signature_id
    LEFT JOIN twins AS t
        ON t.event_signature_id = l.event_signature_id AND t.is_profiled
    GROUP BY g.run_signature_id
),
ran AS (
    SELECT dump_id, run_signature_id, min(run_index) AS first_index
    FROM runs
    GROUP BY dump_id, run_signature_id
),
-- A source is a device in a state, a build and a model. It has a number because DuckDB
-- estimates a join by several keys a hundred times too large, and then reads
-- the statistics of all dumps if they are joined with these names.
dump_sources AS (
    SELECT
        dump_id, device_id, build_id, model_id,
        dense_rank() OVER (ORDER BY device_id, build_id, model_id) AS source_id
    FROM dumps
),
-- Runs of one kind are alike in all but the build and the events.
sources AS (
    SELECT
        d.source_id, d.device_id, d.build_id, d.model_id, r.run_signature_id,
        min(r.first_index) AS first_index
    FROM ran AS r
    JOIN dump_sources AS d ON d.dump_id = r.dump_id
    GROUP BY d.source_id, d.device_id, d.build_id, d.model_id, r.run_signature_id
),
kinds AS (
    SELECT
        r.*, b.position, g.name AS run_name, g.bundled_input_index,
        s.rank, s.size, s.has_twins,
        dense_rank() OVER (
            ORDER BY v.name, m.name, m.backend, g.name, g.bundled_input_index, s.rank
        ) AS kind_id,
        dense_rank() OVER (ORDER BY s.shape) AS shape_id
    FROM sources AS r
    JOIN devices AS v ON v.device_id = r.device_id
    JOIN models AS m ON m.model_id = r.model_id
    JOIN builds AS n ON n.build_id = r.build_id
    JOIN builds_in_order AS b ON b.build = n.name
    JOIN run_signatures AS g ON g.run_signature_id = r.run_signature_id
    JOIN shapes AS s ON s.run_signature_id = r.run_signature_id
),
numbered AS (
    SELECT
        *, dense_rank() OVER (
            PARTITION BY build_id, kind_id ORDER BY first_of_shape, size DESC, shape_id
        ) AS own_number
    FROM (
        SELECT
            *, min(first_index) OVER (PARTITION BY build_id, kind_id, shape_id)
                AS first_of_shape
        FROM kinds
    ) AS k
),
settled AS (
    SELECT
        *,
        min_by(own_number, position) OVER (PARTITION BY kind_id, shape_id) AS number,
        min(position) OVER (PARTITION BY kind_id, shape_id) AS since
    FROM numbered
),
-- Two that got one number in different builds are distinguished where both occur.
placed AS (
    SELECT
        *,
        dense_rank() OVER (
            PARTITION BY build_id, kind_id, number ORDER BY since, shape_id
        ) AS place,
        min(run_signature_id) OVER (PARTITION BY build_id, kind_id, shape_id)
            < max(run_signature_id) OVER (PARTITION BY build_id, kind_id, shape_id)
            AS is_one_of_several
    FROM settled
)
SELECT
    r.dump_id, r.run_signature_id,
    coalesce(nullif(p.run_name, ''), 'run')
        || CASE
            WHEN p.bundled_input_index >= 0
            THEN ' input ' || CAST(p.bundled_input_index AS STRING)
            ELSE ''
        END
        || CASE WHEN p.number > 1 THEN ' #' || CAST(p.number AS STRING) ELSE '' END
        || CASE WHEN p.place > 1 THEN '.' || CAST(p.place AS STRING) ELSE '' END
        || CASE WHEN p.rank = 0 THEN ' (incomplete)' ELSE '' END AS run,
    p.run_name, p.rank = 2 AS is_execution,
    p.has_twins OR p.is_one_of_several AS has_variants
FROM ran AS r
JOIN dump_sources AS d ON d.dump_id = r.dump_id
JOIN placed AS p
    ON p.source_id = d.source_id AND p.run_signature_id = r.run_signature_id
