-- page_dumps: Some of the chosen dumps, the newest first.
--
-- params:
--   most    INT(1..) = 100  Rows to return.
--   before  INT(0..) = 0  Newer dumps to leave out.
--
-- filters: chosen_dumps
--
-- columns:
--   dump_id, sha256, device, model, backend, build, captured_at, ingested_at, n_runs, n_events,
--   byte_count
SELECT
    dump_id, sha256, device, model, backend, build, captured_at, ingested_at, n_runs, n_events,
    byte_count
FROM named_dumps
WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)
ORDER BY dump_id DESC
LIMIT CAST(:most AS INT) OFFSET CAST(:before AS INT)
