-- named_dumps: Dumps with the names of their device, build and model.
--
-- columns:
--   dump_id, sha256, source, byte_count, captured_at, ingested_at, device, pool, os,
--   os_version, arch, soc, build
--   commit                     STRING  Source revision of the build; null if unknown.
--   branch, committed_at, build_ordinal, build_parent, build_role, model, backend,
--   quantization
--   session                    STRING  Session of interleaved recordings; null if
--                                      unknown.
--   pair                       STRING  Pair of dumps of two builds in the session; null
--                                      if none.
--   firmware                   STRING  Firmware of the device; null if unknown.
--   governor                   STRING  Governor of the processor's frequency; null if
--                                      unknown.
--   threads                    INT     Number of available threads; null if unknown.
--   temperature_c              DOUBLE  Temperature of the device at recording, degrees
--                                      Celsius; null if unknown.
--   tags                       STRING  Free fields of the manifest, a JSON object; {}
--                                      without any.
--   tick_unit, ns_per_tick, delegate_ns_per_tick
--   resolution_ticks           DOUBLE  Ticks in a step of the clock, estimated from the
--                                      durations; 1 or more.
--   delegate_resolution_ticks  DOUBLE  Ticks in a step of the clock of delegate events,
--                                      likewise.
--   n_runs, n_events, n_flagged_events, n_allocations, n_debug_events
--   etrecord_id                BIGINT  ETRecord of its program; null without.
SELECT
    d.dump_id, d.sha256, d.source, d.byte_count, d.captured_at, d.ingested_at,
    v.name AS device, v.pool, v.os, v.os_version, v.arch, v.soc,
    b.name AS build, b.commit, b.branch, b.committed_at, b.ordinal AS build_ordinal,
    b.parent AS build_parent, b.role AS build_role,
    m.name AS model, m.backend, m.quantization,
    get_json_object(d.manifest, '$.run.session') AS session,
    get_json_object(d.manifest, '$.run.pair') AS pair,
    get_json_object(d.manifest, '$.run.firmware') AS firmware,
    get_json_object(d.manifest, '$.run.governor') AS governor,
    CAST(get_json_object(d.manifest, '$.run.threads') AS INT) AS threads,
    CAST(get_json_object(d.manifest, '$.run.temperature_c') AS DOUBLE) AS temperature_c,
    coalesce(get_json_object(d.manifest, '$.tags'), '{}') AS tags,
    d.tick_unit, d.ns_per_tick, d.delegate_ns_per_tick, d.resolution_ticks,
    d.delegate_resolution_ticks,
    d.n_runs, d.n_events, d.n_flagged_events, d.n_allocations, d.n_debug_events,
    d.etrecord_id
FROM dumps AS d
JOIN devices AS v ON v.device_id = d.device_id
JOIN builds AS b ON b.build_id = d.build_id
JOIN models AS m ON m.model_id = d.model_id
