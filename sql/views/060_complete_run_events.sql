-- complete_run_events: Events of runs with a Method::execute and no flagged event.
--
-- Only these runs can be split into parts: one that failed has kernels but no
-- Method::execute.
--
-- columns:
--   dump_id             INT     Dump the event was recorded in.
--   run_signature_id    BIGINT  Signature of the run.
--   event_signature_id  BIGINT  Signature of the event.
--   run_index           INT     Position of the run in its dump, from 0.
--   chain_index         INT     Chain of the instruction; -1 outside instructions.
--   duration_ticks      BIGINT  Duration in ticks of the dump's clock.
SELECT
    e.dump_id, e.run_signature_id, e.event_signature_id,
    e.run_index, e.chain_index, e.duration_ticks
FROM events AS e
WHERE e.run_signature_id IN (
    SELECT r.run_signature_id
    FROM run_signatures AS r
    JOIN event_signatures AS s
        ON s.kind = 'method' AND array_contains(r.events, s.event_signature_id)
)
    AND NOT EXISTS (
        SELECT 1
        FROM events AS f
        WHERE f.flags > 1 AND f.dump_id = e.dump_id AND f.run_index = e.run_index
    )
