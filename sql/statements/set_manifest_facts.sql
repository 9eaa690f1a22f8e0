-- Set the columns that follow from the manifests of the dumps in `amended`.
UPDATE dumps
SET device_id = a.device_id, build_id = a.build_id, model_id = a.model_id,
    captured_at = a.captured_at, tick_unit = a.tick_unit, ns_per_tick = a.ns_per_tick,
    delegate_ns_per_tick = a.delegate_ns_per_tick, manifest = a.manifest
FROM amended AS a
WHERE a.sha256 = dumps.sha256
