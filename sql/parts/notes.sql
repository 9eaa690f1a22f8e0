-- notes: What a comparison on a device hides.
--
-- Reads measured and chosen_dumps.
--
-- columns:
--   device   STRING  Name of the device.
--   model    STRING  Name of the model.
--   backend  STRING  Backend of the model; null if none.
--   note     STRING  In what its dumps differ beside the build; null if in nothing.
SELECT
    device, model, backend, 'dumps differ in ' || nullif(concat_ws(
        ', ',
        CASE WHEN count(DISTINCT pool) > 1 THEN 'pool' END,
        CASE WHEN count(DISTINCT os_version) > 1 THEN 'os_version' END,
        CASE WHEN count(DISTINCT soc) > 1 THEN 'soc' END,
        CASE WHEN count(DISTINCT quantization) > 1 THEN 'quantization' END,
        CASE WHEN count(DISTINCT firmware) > 1 THEN 'firmware' END,
        CASE WHEN count(DISTINCT threads) > 1 THEN 'threads' END
    ), '') AS note
FROM (
    SELECT
        device, model, backend, coalesce(pool, '') AS pool,
        coalesce(os_version, '') AS os_version, coalesce(soc, '') AS soc,
        coalesce(quantization, '') AS quantization,
        coalesce(
            try_element_at(from_json(tags, 'MAP<STRING, STRING>'), 'device.firmware'),
            try_element_at(from_json(tags, 'MAP<STRING, STRING>'), 'firmware'), ''
        ) AS firmware,
        coalesce(try_element_at(from_json(tags, 'MAP<STRING, STRING>'), 'threads'), '')
            AS threads
    FROM chosen_dumps
    WHERE dump_id IN (SELECT dump_id FROM measured)
) AS d
GROUP BY device, model, backend
