-- logged_values: Intermediate values with their place in the program and in the runs.
--
-- Reads logged_dumps.
--
-- columns:
--   dump_id, device, model, backend, is_head, run_index
--   run_number    BIGINT  Position among the runs that logged values, from 1.
--   event_index   INT     Event of the run, in the order of execution.
--   instruction_id, delegate_id
--   event_name    STRING  Operator; '' if none is known.
--   ordinal       BIGINT  Which of the run's instructions of that name and delegate id,
--                         from 1.
--   value_index
--   value_type    STRING  Type of the value.
--   dtype         STRING  Data type of a tensor; null for a scalar.
--   sha256        STRING  Hash of a tensor's bytes; null without them.
--   int_value     BIGINT  Integer scalar; null for others.
--   double_value  DOUBLE  Floating scalar; null for others.
WITH logged AS (
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
    FROM logged_dumps AS c
    JOIN debug_values AS v ON v.dump_id = c.dump_id
    WHERE NOT v.is_output AND v.chain_index >= 0
),
named AS (
    SELECT
        e.dump_id, e.run_index, s.instruction_id, s.delegate_id,
        min(s.event_name) AS event_name
    FROM events AS e
    JOIN named_event_signatures AS s ON s.event_signature_id = e.event_signature_id
    WHERE e.dump_id IN (SELECT dump_id FROM logged_dumps)
        AND s.kind NOT IN ('operator_call', 'method', 'load')
    GROUP BY e.dump_id, e.run_index, s.instruction_id, s.delegate_id
)
SELECT
    v.dump_id, v.device, v.model, v.backend, v.is_head, v.run_index, v.run_number,
    v.event_index, v.instruction_id, v.delegate_id,
    coalesce(o.event_name, '') AS event_name,
    dense_rank() OVER (
        PARTITION BY v.dump_id, v.run_index, o.event_name, v.delegate_id
        ORDER BY v.instruction_id
    ) AS ordinal,
    v.value_index, v.value_type, v.dtype, v.sha256, v.int_value, v.double_value
FROM logged AS v
LEFT JOIN named AS o
    ON o.dump_id = v.dump_id AND o.run_index = v.run_index
    AND o.instruction_id IS NOT DISTINCT FROM v.instruction_id
    AND o.delegate_id IS NOT DISTINCT FROM v.delegate_id
