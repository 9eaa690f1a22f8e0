-- What kept rows of views follow from, up to some ids ($last_dump and so on; null: all
-- there are): the last ids, and a hash of the rest. Sums, because in an XOR the equal last
-- values of two rows would cancel out.
SELECT
    coalesce(d.last, -1) AS last_dump, coalesce(b.last, -1) AS last_build,
    coalesce(v.last, -1) AS last_device, coalesce(m.last, -1) AS last_model,
    CAST(hash(d.total, b.total, v.total, m.total) AS VARCHAR) AS content
FROM (
    SELECT
        max(dump_id) AS last, sum(hash(
            dump_id, device_id, build_id, model_id, etrecord_id, ingested_at
        )) AS total
    FROM dumps
    WHERE $last_dump IS NULL OR dump_id <= $last_dump
) AS d
CROSS JOIN (
    SELECT max(build_id) AS last, sum(hash(build_id, position)) AS total
    FROM build_order
    WHERE $last_build IS NULL OR build_id <= $last_build
) AS b
CROSS JOIN (
    SELECT max(device_id) AS last, sum(hash(device_id, name)) AS total
    FROM devices
    WHERE $last_device IS NULL OR device_id <= $last_device
) AS v
CROSS JOIN (
    SELECT max(model_id) AS last, sum(hash(model_id, name, backend)) AS total
    FROM models
    WHERE $last_model IS NULL OR model_id <= $last_model
) AS m
