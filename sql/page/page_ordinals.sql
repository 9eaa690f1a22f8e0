-- page_ordinals: The number that tells instructions of one name in a run apart.
--
-- filters: chosen_dumps
--
-- columns:
--   device, build, model, backend, run, event_name, delegate_id, instruction_id
--   ordinal  INT  1 for the run's first instruction of that name and delegate id, then 2.
SELECT
    s.device, s.build, s.model, s.backend, s.run, s.event_name, s.delegate_id,
    s.instruction_id, s.ordinal
FROM operator_stats AS s
JOIN chosen_dumps AS c ON c.dump_id = s.dump_id
GROUP BY
    s.device, s.build, s.model, s.backend, s.run, s.event_name, s.delegate_id,
    s.instruction_id, s.ordinal
ORDER BY
    s.device, s.build, s.model, s.backend NULLS FIRST, s.run, s.event_name,
    s.delegate_id NULLS FIRST, s.instruction_id NULLS FIRST, s.ordinal
