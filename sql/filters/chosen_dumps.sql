-- chosen_dumps: Dumps that pass the filters of a query.
--
-- A dump must pass every filter. Of several values of one filter, any one may match;
-- each may be a glob (* ? [a-z]) of names in the store.
--
-- params:
--   device, pool
--   build  STRING[] OF builds.name = NULL    Only these builds.
--   model, backend
--   tag    TAG[] OF named_dumps.tags = NULL  Only dumps with this tag in their
--                                           manifest, KEY=VALUE; several of one key
--                                           are alternatives.
--   since  TIMESTAMP = NULL                  Only dumps captured at or after this time.
--   until  TIMESTAMP(>since) = NULL          Only dumps captured before this time.
--
-- columns:
--   dump_id, device, pool, os, os_version, arch, soc, build, branch, model, backend,
--   quantization
--   tags         STRING  Free fields of the manifest, a JSON object.
--   ns_per_tick, delegate_ns_per_tick
--   etrecord_id  BIGINT  ETRecord of its program; null without.
SELECT
    dump_id, device, pool, os, os_version, arch, soc, build, branch,
    model, backend, quantization, tags, ns_per_tick, delegate_ns_per_tick,
    etrecord_id
FROM named_dumps
WHERE is_chosen(:device, device)
    AND is_chosen(:pool, pool)
    AND is_chosen(:build, build)
    AND is_chosen(:model, model)
    AND is_chosen(:backend, backend)
    AND is_chosen(:tag, tags)
    AND (CAST(:since AS TIMESTAMP) IS NULL
        OR captured_at >= CAST(:since AS TIMESTAMP))
    AND (CAST(:until AS TIMESTAMP) IS NULL
        OR captured_at < CAST(:until AS TIMESTAMP))
