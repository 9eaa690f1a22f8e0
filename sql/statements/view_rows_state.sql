-- What kept rows of views follow from, up to some ids ($last_dump and so on; null: all
-- there are): the last ids, and a hash of the rest. Sums, because in an XOR the equal last
-- values of two rows would cancel out.
WITH last AS (
    SELECT
        coalesce($last_dump, (SELECT max(dump_id) FROM dumps), -1) AS dump_id,
        coalesce($last_build, (SELECT max(build_id) FROM build_order), -1) AS build_id,
        coalesce($last_device, (SELECT max(device_id) FROM devices), -1) AS device_id,
        coalesce($last_model, (SELECT max(model_id) FROM models), -1) AS model_id
)
SELECT
    l.*, CAST(hash(
        (
            SELECT sum(hash(dump_id, device_id, build_id, model_id, ingested_at))
            FROM dumps WHERE dump_id <= l.dump_id
        ),
        (
            SELECT sum(hash(build_id, position))
            FROM build_order WHERE build_id <= l.build_id
        ),
        (SELECT sum(hash(device_id, name)) FROM devices WHERE device_id <= l.device_id),
        (
            SELECT sum(hash(model_id, name, backend))
            FROM models WHERE model_id <= l.model_id
        )
    ) AS VARCHAR) AS content
FROM last AS l
