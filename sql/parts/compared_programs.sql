-- compared_programs: Two programs, once for each of their dumps.
--
-- params:
--   base  BIGINT  ETRecord of a program.
--   head  BIGINT  ETRecord of another one.
--
-- columns:
--   etrecord_id
SELECT etrecord_id
FROM dumps
WHERE etrecord_id IN (CAST(:base AS BIGINT), CAST(:head AS BIGINT))
