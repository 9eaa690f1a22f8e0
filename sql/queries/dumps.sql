-- dumps: Dumps in the store, with their names and counts.
--
-- filters: chosen_dumps
--
-- columns:
--   dump_id           BIGINT     Number of the dump: from 1, in order of arrival;
--                                in a lake the same as in all others.
--   device            STRING     Name of the device.
--   pool              STRING     Device pool; null if none.
--   build             STRING     Id of the build.
--   model             STRING     Name of the model.
--   backend           STRING     Backend of the model; null if none.
--   quantization      STRING     Quantization of the model; null if none.
--   captured_at       TIMESTAMP  Time of recording; null if unknown.
--   ingested_at       TIMESTAMP  Time of commit to the store.
--   n_runs            INT        Runs in the dump.
--   n_events          BIGINT     Profile events in the dump.
--   n_flagged_events  BIGINT     Profile events with impossible durations.
--   n_allocations     BIGINT     Allocation events in the dump.
--   n_debug_events    BIGINT     Debug events in the dump.
--   tick_unit         STRING     Unit of a clock tick: ns, us, ms, s or cycles.
--   byte_count        BIGINT     Size in bytes.
--   sha256            STRING     SHA-256 of the dump's bytes, hex.
--   source            STRING     Path or archive member it was first read from.
--   tags              STRING     Free fields of its manifest, a JSON object.
SELECT
    CAST(dump_id AS BIGINT) AS dump_id, device, pool, build, model, backend,
    quantization, captured_at, ingested_at, n_runs, n_events, n_flagged_events,
    n_allocations, n_debug_events, tick_unit, byte_count, sha256, source, tags
FROM named_dumps
WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
ORDER BY dump_id
