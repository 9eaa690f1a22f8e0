-- Dumps on their way into a lake, in order of parts: the partition, and a state that changes with
-- every change of the dump's rows.
SELECT
    d.dump_id, d.sha256, coalesce(strftime(d.captured_at, '%Y-%m-%d'), 'unknown') AS date,
    m.name AS model, d.n_events,
    sha256(concat_ws(
        chr(10), d.sha256, d.etrecord_id, d.debug_buffer_sha256, d.manifest
    )) AS state,
    sha256(d.manifest) AS manifest_sha256, d.etrecord_id, d.debug_buffer_sha256
FROM dumps AS d
JOIN models AS m ON m.model_id = d.model_id
ORDER BY date, model, d.device_id, d.build_id, d.captured_at NULLS LAST, d.dump_id
