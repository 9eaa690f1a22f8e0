-- program_dumps: The dumps whose programs are needed.
--
-- Reads grouped_dumps. Parts that read chosen_dumps read this instead, where dumps are
-- grouped.
--
-- columns:
--   dump_id
SELECT dump_id
FROM grouped_dumps
