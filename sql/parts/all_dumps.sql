-- all_dumps: Every dump.
--
-- columns:
--   dump_id  INT  Number of the dump.
SELECT dump_id
FROM dumps
