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
--   device  STRING  Name of the device; null with group_by.
--   pool    STRING  Device pool; null if none, and with group_by.
--   build, model, backend, group_value, ns_per_tick, delegate_ns_per_tick
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
        ELSE tag(tags, CAST(:group_by AS STRING))
    END AS group_value,
    ns_per_tick, delegate_ns_per_tick
FROM chosen_dumps
