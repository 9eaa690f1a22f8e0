-- complete_run_totals: Time per dump, run signature, chain and event in complete runs.
--
-- columns:
--   dump_id, run_signature_id
--   chain_index  INT     Chain of the instruction; -1 outside instructions.
--   event_signature_id
--   event_name   STRING  Name of the events, else their delegate id.
--   instruction_id, delegate_id, kind
--   event_count  BIGINT  Events summed, at least 1.
--   total_ns     DOUBLE  Sum of their durations; null in cycles of unknown rate.
--   op_type
SELECT
    t.dump_id, t.run_signature_id, t.chain_index, t.event_signature_id,
    s.event_name, s.instruction_id, s.delegate_id, s.kind, t.event_count,
    t.total_ticks * tick_ns(s, d) AS total_ns, s.op_type
FROM event_totals AS t
JOIN dumps AS d ON d.dump_id = t.dump_id
JOIN named_event_signatures AS s ON s.event_signature_id = t.event_signature_id
