-- notes: Doubts about a comparison on a device.
--
-- Reads compared_dumps.
--
-- columns:
--   device, model, backend
--   note  STRING  Other differences between the dumps than the build; null if there are
--                 none.
SELECT
    device, model, backend, 'dumps differ in ' || nullif(concat_ws(
        ', ',
        CASE WHEN count(DISTINCT pool) > 1 THEN 'pool' END,
        CASE WHEN count(DISTINCT os_version) > 1 THEN 'os_version' END,
        CASE WHEN count(DISTINCT soc) > 1 THEN 'soc' END,
        CASE WHEN count(DISTINCT quantization) > 1 THEN 'quantization' END,
        CASE WHEN count(DISTINCT firmware) > 1 THEN 'firmware' END,
        CASE WHEN count(DISTINCT threads) > 1 THEN 'threads' END,
        CASE WHEN count(DISTINCT governor) > 1 THEN 'governor' END
    ), '') AS note
FROM (
    SELECT
        d.device, d.model, d.backend, coalesce(d.pool, '') AS pool,
        coalesce(d.os_version, '') AS os_version, coalesce(d.soc, '') AS soc,
        coalesce(d.quantization, '') AS quantization,
        coalesce(d.firmware, '') AS firmware, coalesce(d.governor, '') AS governor,
        coalesce(d.threads, 0) AS threads
    FROM compared_dumps AS c
    JOIN named_dumps AS d ON d.dump_id = c.dump_id
) AS f
GROUP BY device, model, backend
