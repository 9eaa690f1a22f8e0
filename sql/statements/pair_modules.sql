-- pair_modules: The modules of the operators of two builds, by ETRecord.
--
-- params:
--   run
--
-- filters: compared_dumps
--
-- columns:
--   etrecord_id, run, event_name, delegate_id, ordinal
--   module_path  STRING   Path of the module, '' if the program's.
--   is_own       BOOLEAN  Whether it runs nodes of the module itself.
--   is_total     BOOLEAN  Whether it is inside the module.
SELECT DISTINCT
    e.etrecord_id, o.run, o.event_name, o.delegate_id, o.ordinal, e.module_path,
    e.is_own, e.is_total
FROM operator_stats AS o
JOIN dumps AS d ON d.dump_id = o.dump_id
JOIN event_modules AS e ON e.etrecord_id = d.etrecord_id AND same_event(e, o)
WHERE o.build IN (CAST(:base AS STRING), CAST(:head AS STRING))
    AND o.dump_id IN (SELECT dump_id FROM compared_dumps)
    AND o.kind NOT IN ('operator_call', 'load', 'delegate_phase')
    AND is_chosen(:run, o.run)
