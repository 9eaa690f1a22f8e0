-- pair_dumps: The dumps of two builds, with what else than the build may differ.
--
-- filters: compared_dumps
--
-- columns:
--   dump_id, is_head, device, model, backend, captured_at
--   session       STRING  Session of the recording; null if unknown.
--   pair          STRING  Pair of dumps in the session; null if none.
--   etrecord_id, pool, os_version, soc, quantization
--   firmware      STRING  Firmware of the device; null if unknown.
--   threads       INT     Number of available threads; null if unknown.
--   governor      STRING  Governor of the processor's frequency; null if unknown.
SELECT
    c.dump_id, c.is_head, c.device, c.model, c.backend, d.captured_at, d.session,
    d.pair, d.etrecord_id, d.pool, d.os_version, d.soc, d.quantization, d.firmware,
    d.threads, d.governor
FROM compared_dumps AS c
JOIN named_dumps AS d ON d.dump_id = c.dump_id
