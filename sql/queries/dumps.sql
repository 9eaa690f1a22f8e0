-- dumps: Dumps in the store, with their names and counts.
--
-- filters: chosen_dumps
--
-- next: event_blocks, run_timeline
--
-- columns:
--   dump_id  BIGINT  Number of the dump: from 1, in order of arrival; in a lake the
--                    same as in all others.
--   device, pool, build, model, backend, quantization, captured_at, ingested_at,
--   n_runs, n_events, n_flagged_events, n_allocations, n_debug_events, tick_unit,
--   byte_count, sha256, source
--   tags     STRING  Free fields of its manifest, a JSON object.
SELECT
    CAST(dump_id AS BIGINT) AS dump_id, device, pool, build, model, backend,
    quantization, captured_at, ingested_at, n_runs, n_events, n_flagged_events,
    n_allocations, n_debug_events, tick_unit, byte_count, sha256, source, tags
FROM named_dumps
WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
ORDER BY dump_id
