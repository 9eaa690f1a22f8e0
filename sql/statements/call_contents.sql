-- The operators inside delegate calls of some builds ($builds), on a device ($device) and of a model
-- ($model, $backend), in runs of a name ($run): a row per call and operator.
SELECT DISTINCT
    o.build, c.event_name AS call_name, c.ordinal AS call_ordinal,
    o.event_name, o.delegate_id, o.ordinal
FROM operator_stats AS o
JOIN operator_stats AS c
    ON c.dump_id = o.dump_id AND c.run_signature_id = o.run_signature_id
    AND c.instruction_id = o.instruction_id
WHERE o.kind <> c.kind AND c.kind = 'delegate_call'
    AND o.device = $device AND o.model = $model AND o.backend IS NOT DISTINCT FROM $backend
    AND o.run = $run AND array_contains($builds, o.build)
    AND c.device = $device AND c.model = $model AND array_contains($builds, c.build)
