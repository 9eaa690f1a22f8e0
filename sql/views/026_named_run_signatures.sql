-- named_run_signatures: Run signatures of dumps with names stable across builds.
--
-- Inserting an operator changes the run signature. So runs of two builds count as the
-- same if they have the same name here: the run's own name, with '#2', '#3', ... for
-- further runs of the model on the device that have other events, such as runs that
-- write tokens and runs that read a prompt. The numbers follow the order of first
-- runs in the first build that has the signature; later builds keep them. Signatures
-- that differ only in logged values, or in the order of events, share a name. Runs that
-- look alike but take two lengths in a dump are called '(long)' and '(short)', if most
-- dumps of the model on the device that have such runs have both lengths.
--
-- columns:
--   dump_id, run_signature_id
--   run           STRING   Name of the run, with 'input N' for a bundled input, '#2' as
--                          above, and '(incomplete)' for a run that has no
--                          Method::execute, unless it only loads.
--   run_name      STRING   Name of the run as logged; null if it has none.
--   is_execution  BOOLEAN  Whether it has a Method::execute.
--   has_variants  BOOLEAN  Whether an event has two signatures in it, or another
--                          signature may have the same name on the device in the
--                          build.
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
        CASE
            WHEN count(CASE WHEN t.kind = 'method' THEN 1 END) > 0 THEN 2
            WHEN count(CASE
                WHEN t.kind IN ('operator_call', 'kernel', 'delegate_call') THEN 1
            END) > 0 THEN 0
            WHEN count(CASE WHEN t.kind = 'load' THEN 1 END) > 0 THEN 1
            ELSE 0
        END AS rank,
        count(DISTINCT t.twin_id) AS size,
        -- Runs that load share their name with those that load and execute.
        count(t.twin_id) > count(DISTINCT t.twin_id)
            OR count(CASE WHEN t.kind = 'load' THEN 1 END) > 0 AS has_twins
    FROM run_signatures AS g
    LEFT JOIN (
        SELECT run_signature_id, explode(events) AS event_signature_id
        FROM run_signatures
    ) AS l ON l.run_signature_id = g.run_signature_id
    LEFT JOIN twins AS t
        ON t.event_signature_id = l.event_signature_id AND t.is_profiled
    GROUP BY g.run_signature_id
),
-- Runs of one kind are alike in all but the build and the events.
kinds AS (
    SELECT
        g.run_signature_id, g.name AS run_name, g.bundled_input_index, g.length,
        s.rank, s.size, s.has_twins,
        dense_rank() OVER (ORDER BY g.name, g.bundled_input_index, s.rank) AS kind_id,
        dense_rank() OVER (ORDER BY s.shape) AS shape_id
    FROM run_signatures AS g
    JOIN shapes AS s ON s.run_signature_id = g.run_signature_id
),
-- States of a device share its name, and quantizations of a model its name and backend.
same_devices AS (
    SELECT device_id, min(device_id) OVER (PARTITION BY name) AS device_id_of_name
    FROM devices
),
same_models AS (
    SELECT model_id, min(model_id) OVER (PARTITION BY name, backend) AS model_id_of_name
    FROM models
),
run_kinds AS (
    SELECT
        v.device_id_of_name AS device_id, m.model_id_of_name AS model_id, d.build_id,
        k.*, r.dump_id, r.first_index
    FROM (
        SELECT dump_id, run_signature_id, min(run_index) AS first_index
        FROM runs
        GROUP BY dump_id, run_signature_id
    ) AS r
    JOIN dumps AS d ON d.dump_id = r.dump_id
    JOIN same_devices AS v ON v.device_id = d.device_id
    JOIN same_models AS m ON m.model_id = d.model_id
    JOIN kinds AS k ON k.run_signature_id = r.run_signature_id
),
split_kinds AS (
    SELECT device_id, model_id, kind_id
    FROM run_kinds
    WHERE kind_id IN (SELECT kind_id FROM kinds WHERE length IS NOT NULL)
    GROUP BY device_id, model_id, kind_id
    HAVING 2 * count(DISTINCT CASE WHEN length IS NOT NULL THEN dump_id END)
        > count(DISTINCT dump_id)
),
-- Each length is a kind of its own.
ran AS (
    SELECT
        r.device_id, r.model_id, r.build_id, r.run_signature_id, r.run_name,
        r.bundled_input_index, r.rank, r.size, r.has_twins, r.shape_id, r.dump_id,
        r.first_index, CASE WHEN s.kind_id IS NOT NULL THEN r.length END AS length,
        3 * r.kind_id + CASE
            WHEN s.kind_id IS NULL OR r.length IS NULL THEN 0
            WHEN r.length = 'long' THEN 1
            ELSE 2
        END AS kind_id
    FROM run_kinds AS r
    LEFT JOIN split_kinds AS s
        ON s.device_id = r.device_id AND s.model_id = r.model_id
        AND s.kind_id = r.kind_id
),
-- Most kinds have one signature in each build of a model on a device: such runs need no
-- numbers. Those with one in all builds are found first, for there are fewer groups.
varied AS (
    SELECT device_id, model_id, kind_id
    FROM ran
    GROUP BY device_id, model_id, kind_id
    HAVING min(run_signature_id) < max(run_signature_id)
),
mixed AS (
    SELECT DISTINCT device_id, model_id, kind_id
    FROM (
        SELECT r.device_id, r.model_id, r.kind_id
        FROM ran AS r
        JOIN varied AS a
            ON a.device_id = r.device_id AND a.model_id = r.model_id
            AND a.kind_id = r.kind_id
        GROUP BY r.device_id, r.model_id, r.build_id, r.kind_id
        HAVING min(r.run_signature_id) < max(r.run_signature_id)
    ) AS b
),
numbered AS (
    SELECT
        *, dense_rank() OVER (
            PARTITION BY device_id, model_id, build_id, kind_id
            ORDER BY first_of_shape, size DESC, first_signature
        ) AS own_number
    FROM (
        SELECT
            r.*, b.position,
            min(r.first_index) OVER (
                PARTITION BY r.device_id, r.model_id, r.build_id, r.kind_id, r.shape_id
            ) AS first_of_shape,
            -- Orders shapes that nothing else does: ids are hashes and never change.
            min(r.run_signature_id) OVER (
                PARTITION BY r.device_id, r.model_id, r.kind_id, r.shape_id
            ) AS first_signature
        FROM ran AS r
        JOIN builds AS n ON n.build_id = r.build_id
        JOIN builds_in_order AS b ON b.build = n.name
        WHERE EXISTS (
            SELECT 1
            FROM mixed AS x
            WHERE x.device_id = r.device_id AND x.model_id = r.model_id
                AND x.kind_id = r.kind_id
        )
    ) AS k
),
settled AS (
    SELECT
        *,
        min_by(own_number, position) OVER (
            PARTITION BY device_id, model_id, kind_id, shape_id
        ) AS number,
        min(position) OVER (PARTITION BY device_id, model_id, kind_id, shape_id)
            AS since
    FROM numbered
),
places AS (
    -- Two that got one number in different builds are distinguished where both occur.
    SELECT
        dump_id, run_signature_id, run_name, bundled_input_index, length, rank,
        has_twins, number, dense_rank() OVER (
            PARTITION BY device_id, model_id, build_id, kind_id, number
            ORDER BY since, first_signature
        ) AS place,
        min(run_signature_id) OVER same_shape < max(run_signature_id) OVER same_shape
            AS is_one_of_several
    FROM settled
    WINDOW same_shape AS (
        PARTITION BY device_id, model_id, build_id, kind_id, shape_id
    )
    UNION ALL
    SELECT
        r.dump_id, r.run_signature_id, r.run_name, r.bundled_input_index, r.length,
        r.rank, r.has_twins, 1 AS number, 1 AS place, FALSE AS is_one_of_several
    FROM ran AS r
    WHERE NOT EXISTS (
        SELECT 1
        FROM mixed AS x
        WHERE x.device_id = r.device_id AND x.model_id = r.model_id
            AND x.kind_id = r.kind_id
    )
)
SELECT
    dump_id, run_signature_id,
    coalesce(nullif(run_name, ''), 'run')
        || CASE
            WHEN bundled_input_index >= 0
            THEN ' input ' || CAST(bundled_input_index AS STRING)
            ELSE ''
        END
        || coalesce(' (' || length || ')', '')
        || CASE WHEN number > 1 THEN ' #' || CAST(number AS STRING) ELSE '' END
        || CASE WHEN place > 1 THEN '.' || CAST(place AS STRING) ELSE '' END
        || CASE WHEN rank = 0 THEN ' (incomplete)' ELSE '' END AS run,
    run_name, rank = 2 AS is_execution,
    has_twins OR is_one_of_several AS has_variants
FROM places
