-- program_dumps: The programs that are needed, once for each of their dumps.
--
-- Reads grouped_dumps. Parts that read chosen_dumps read this instead, where dumps are
-- grouped.
--
-- columns:
--   etrecord_id  BIGINT  ETRecord of its program; null without.
SELECT etrecord_id
FROM grouped_dumps
