-- program_dumps: The dumps whose programs are asked for.
--
-- Reads grouped_dumps. For parts that read chosen_dumps, where dumps are grouped.
--
-- columns:
--   dump_id  INT  Number of the dump.
SELECT dump_id
FROM grouped_dumps
