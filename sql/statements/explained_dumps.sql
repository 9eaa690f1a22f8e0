-- Dumps of some builds and models on some devices, or on those of some pools.
SELECT dump_id, device, pool, model, backend, build, etrecord_id
FROM named_dumps
WHERE list_contains($builds, build) AND list_contains($models, model)
    AND (list_contains($devices, device) OR list_contains($pools, pool))
ORDER BY dump_id
