-- all_dumps: Every dump.
--
-- columns:
--   dump_id
SELECT dump_id
FROM dumps
