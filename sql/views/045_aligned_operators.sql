-- aligned_operators: Events of programs that go by the names of newer programs.
--
-- Programs that follow each other on a device are aligned, as a diff aligns two texts.
-- An operator of an earlier program goes by the name that it has in the newest one; an
-- operator that the newer programs lack keeps its own name, with the next ordinal if
-- that is taken. Events that go by their own names have no row.
--
-- tracehouse fills this view; in other tools, which cannot align programs, it is empty.
--
-- columns:
--   model, backend, run, run_signature_id, event_signature_id
--   event_name   STRING  Its name in the newest program.
--   delegate_id  STRING  Its delegate id in the newest program.
--   ordinal      INT     Its ordinal in the runs of the newest program.
--   kind         STRING  Its kind in the newest program.
--   op_type      STRING  Its type in the newest program.
SELECT
    CAST(NULL AS STRING) AS model, CAST(NULL AS STRING) AS backend,
    CAST(NULL AS STRING) AS run, CAST(NULL AS BIGINT) AS run_signature_id,
    CAST(NULL AS BIGINT) AS event_signature_id, CAST(NULL AS STRING) AS event_name,
    CAST(NULL AS STRING) AS delegate_id, CAST(NULL AS INT) AS ordinal,
    CAST(NULL AS STRING) AS kind, CAST(NULL AS STRING) AS op_type
WHERE 1 = 0
