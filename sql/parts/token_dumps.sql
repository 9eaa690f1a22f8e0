-- token_dumps: Dumps of models that read a prompt and then write tokens.
--
-- These are dumps whose manifest names the decoding method, and dumps with several
-- kinds of executions.
--
-- columns:
--   dump_id
SELECT d.dump_id
FROM named_dumps AS d
LEFT JOIN (
    SELECT dump_id, count(DISTINCT run) AS kind_count
    FROM named_run_signatures
    WHERE is_execution
    GROUP BY dump_id
) AS n ON n.dump_id = d.dump_id
WHERE n.kind_count > 1
    OR tag_of(d.tags, 'decode_method') IS NOT NULL
    OR tag_of(d.tags, 'model.decode_method') IS NOT NULL
