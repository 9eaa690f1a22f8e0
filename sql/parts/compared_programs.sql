-- compared_programs: The dumps of two programs.
--
-- params:
--   base  BIGINT  ETRecord of a program.
--   head  BIGINT  ETRecord of another one.
--
-- columns:
--   dump_id
SELECT dump_id
FROM dumps
WHERE etrecord_id IN (CAST(:base AS BIGINT), CAST(:head AS BIGINT))
