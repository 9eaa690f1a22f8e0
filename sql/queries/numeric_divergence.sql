-- numeric_divergence: Where the values of two builds begin to differ, on each device.
--
-- Of each build the latest dump with logged intermediate values counts, whose runs that
-- logged any are compared in order, value by value in the order of execution: tensors
-- by their bytes, scalars as they are. Operators are matched by name, delegate id and
-- ordinal, as in regression_deltas. Everything before the value shown is equal bit by
-- bit; by how much it differs, and whether within a tolerance, `tracehouse numeric-gap
-- BASE_DUMP_ID HEAD_DUMP_ID --first` tells.
--
-- params:
--   base  STRING OF builds.name          Build to compare with.
--   head  STRING(<>base) OF builds.name  Build in question.
--
-- filters: chosen_dumps without build
--
-- columns:
--   device          STRING  Name of the device.
--   model           STRING  Name of the model.
--   backend         STRING  Backend of the model; null if none.
--   base_dumps      BIGINT  Dumps of the base that logged values, at least 1.
--   head_dumps      BIGINT  Dumps of the head that did, at least 1.
--   base_dump_id    INT     The latest of the base.
--   head_dump_id    INT     The latest of the head.
--   base_count      BIGINT  Values in that of the base.
--   compared_count  BIGINT  Those that the head logged too, with content on both sides.
--   equal_count     BIGINT  Those of them that are equal.
--   verdict         STRING  equal, different, or not_compared where nothing was.
--   event_name      STRING  Operator of the first value that differs; null if none
--                           does, like all that follow.
--   delegate_id     STRING  Its delegate debug id; null outside delegates.
--   ordinal         INT     Which of the run's instructions of that name and delegate
--                           id, from 1.
--   instruction_id  INT     Its instruction id in the base.
--   run_index       INT     Its run in the base, from 0.
--   value_index     INT     Which of the values that it logged in the run, from 0.
WITH chosen AS (
    SELECT dump_id, device, model, backend, is_head, dump_count
    FROM (
        SELECT
            dump_id, device, model, backend,
            CASE WHEN build = CAST(:head AS STRING) THEN 1 ELSE 0 END AS is_head,
            count(*) OVER (PARTITION BY device, model, backend, build) AS dump_count,
            row_number() OVER (
                PARTITION BY device, model, backend, build ORDER BY dump_id DESC
            ) AS choice
        FROM chosen_dumps
        WHERE build IN (CAST(:base AS STRING), CAST(:head AS STRING))
            AND dump_id IN (SELECT dump_id FROM debug_values WHERE NOT is_output)
    ) AS d
    WHERE choice = 1
),
logged AS (
    SELECT
        c.device, c.model, c.backend, c.is_head, v.dump_id, v.run_index, v.event_index,
        v.instruction_id, v.value_type, v.dtype, v.sha256, v.int_value, v.double_value,
        coalesce(CAST(v.delegate_id_int AS STRING), v.delegate_id_str) AS delegate_id,
        dense_rank() OVER (PARTITION BY v.dump_id ORDER BY v.run_index) AS run_number,
        row_number() OVER (
            PARTITION BY
                v.dump_id, v.run_index, v.instruction_id,
                v.delegate_id_int, v.delegate_id_str
            ORDER BY v.event_index, v.element_index NULLS FIRST
        ) - 1 AS value_index
    FROM chosen AS c
    JOIN debug_values AS v ON v.dump_id = c.dump_id
    WHERE NOT v.is_output AND v.chain_index >= 0
),
operators AS (
    SELECT
        e.dump_id, e.run_index, s.instruction_id, s.delegate_id,
        min(s.event_name) AS event_name
    FROM events AS e
    JOIN named_event_signatures AS s ON s.event_signature_id = e.event_signature_id
    WHERE e.dump_id IN (SELECT dump_id FROM chosen)
        AND s.kind NOT IN ('operator_call', 'method', 'load')
    GROUP BY e.dump_id, e.run_index, s.instruction_id, s.delegate_id
),
placed AS (
    SELECT
        v.*, coalesce(o.event_name, '') AS event_name,
        dense_rank() OVER (
            PARTITION BY v.dump_id, v.run_index, o.event_name, v.delegate_id
            ORDER BY v.instruction_id
        ) AS ordinal
    FROM logged AS v
    LEFT JOIN operators AS o
        ON o.dump_id = v.dump_id AND o.run_index = v.run_index
        AND o.instruction_id IS NOT DISTINCT FROM v.instruction_id
        AND o.delegate_id IS NOT DISTINCT FROM v.delegate_id
),
pairs AS (
    SELECT
        b.*,
        b.value_type = h.value_type
            AND (b.sha256 IS NOT NULL OR b.dtype IS NULL)
            AND (h.sha256 IS NOT NULL OR h.dtype IS NULL) AS is_compared,
        b.sha256 IS NOT DISTINCT FROM h.sha256 AND b.dtype IS NOT DISTINCT FROM h.dtype
            AND b.int_value IS NOT DISTINCT FROM h.int_value
            AND b.double_value IS NOT DISTINCT FROM h.double_value AS is_equal
    FROM placed AS b
    LEFT JOIN placed AS h
        ON h.is_head = 1 AND h.device = b.device AND h.model = b.model
        AND h.backend IS NOT DISTINCT FROM b.backend
        AND h.run_number = b.run_number AND h.event_name = b.event_name
        AND h.delegate_id IS NOT DISTINCT FROM b.delegate_id
        AND h.ordinal = b.ordinal AND h.value_index = b.value_index
    WHERE b.is_head = 0
),
counted AS (
    SELECT
        dump_id, count(*) AS base_count,
        count(CASE WHEN is_compared THEN 1 END) AS compared_count,
        count(CASE WHEN is_compared AND is_equal THEN 1 END) AS equal_count
    FROM pairs
    GROUP BY dump_id
),
different AS (
    SELECT
        *, row_number() OVER (
            PARTITION BY dump_id
            ORDER BY run_index, event_index, instruction_id, delegate_id, value_index
        ) AS position
    FROM pairs
    WHERE is_compared AND NOT is_equal
)
SELECT
    b.device, b.model, b.backend,
    b.dump_count AS base_dumps, h.dump_count AS head_dumps,
    b.dump_id AS base_dump_id, h.dump_id AS head_dump_id,
    n.base_count, n.compared_count, n.equal_count,
    CASE
        WHEN n.compared_count = 0 THEN 'not_compared'
        WHEN n.compared_count = n.equal_count THEN 'equal'
        ELSE 'different'
    END AS verdict,
    d.event_name, d.delegate_id, CAST(d.ordinal AS INT) AS ordinal, d.instruction_id,
    d.run_index, CAST(d.value_index AS INT) AS value_index
FROM chosen AS b
JOIN chosen AS h
    ON h.is_head = 1 AND h.device = b.device AND h.model = b.model
    AND h.backend IS NOT DISTINCT FROM b.backend
JOIN counted AS n ON n.dump_id = b.dump_id
LEFT JOIN different AS d ON d.dump_id = b.dump_id AND d.position = 1
WHERE b.is_head = 0
ORDER BY b.device, b.model, b.backend NULLS LAST
