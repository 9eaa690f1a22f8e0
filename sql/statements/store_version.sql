-- What tells this state of a store from all others that one process has it in.
SELECT
    (SELECT max(dump_id) FROM dumps) AS last_dump,
    (SELECT count(*) FROM dumps) AS dumps,
    (SELECT count(*) FROM archive_segments) AS segments,
    (SELECT max(segment) FROM archive_segments) AS last_segment,
    (SELECT count(*) FROM ingest_errors) AS refusals,
    (SELECT max(refused_at) FROM ingest_errors) AS last_refusal,
    (SELECT count(*) FROM group_decisions) AS decisions,
    (SELECT count(*) FROM dropped_events) AS dropped,
    (SELECT count(*) FROM forgotten_dumps) AS forgotten
