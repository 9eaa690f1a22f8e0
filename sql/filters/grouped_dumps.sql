-- grouped_dumps: The chosen dumps with the group of their rows.
--
-- By default each device, in each state of its attributes, is a group. With group_by, a
-- group takes several devices together.
--
-- params:
--   group_by  TAG_KEY(device|pool|os|os_version|arch|soc|branch|backend|quantization)
--             OF named_dumps.tags = NULL  Take devices together that share this
--             attribute or tag; null counts as a value.
--
-- filters: chosen_dumps
--
-- columns:
--   dump_id
--   place_id     BIGINT  Number of its group, from 1, in the order of the next columns.
--   device, pool, build, model, backend, group_value, ns_per_tick, delegate_ns_per_tick
--   etrecord_id  BIGINT  ETRecord of its program; null without.
SELECT
    dump_id,
    CAST(dense_rank() OVER (
        ORDER BY
            device NULLS LAST, pool NULLS LAST, build, model, backend NULLS LAST,
            group_value NULLS LAST
    ) AS BIGINT) AS place_id,
    device, pool, build, model, backend, group_value, ns_per_tick,
    delegate_ns_per_tick, etrecord_id
FROM (
    SELECT
        dump_id,
        CASE WHEN CAST(:group_by AS STRING) IS NULL THEN device END AS device,
        CASE WHEN CAST(:group_by AS STRING) IS NULL THEN pool END AS pool,
        build, model, backend,
        CASE CAST(:group_by AS STRING)
            WHEN 'device' THEN device
            WHEN 'pool' THEN pool
            WHEN 'os' THEN os
            WHEN 'os_version' THEN os_version
            WHEN 'arch' THEN arch
            WHEN 'soc' THEN soc
            WHEN 'branch' THEN branch
            WHEN 'backend' THEN backend
            WHEN 'quantization' THEN quantization
            ELSE tag_of(tags, CAST(:group_by AS STRING))
        END AS group_value,
        ns_per_tick, delegate_ns_per_tick, etrecord_id
    FROM chosen_dumps
) AS g
