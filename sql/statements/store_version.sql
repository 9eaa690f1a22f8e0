-- A value that differs between the states of a store in one process.
SELECT
    (SELECT max(dump_id) FROM dumps) AS last_dump,
    (SELECT count(*) FROM dumps) AS dumps,
    (SELECT count(*) FROM archive_segments) AS segments,
    (SELECT max(segment) FROM archive_segments) AS last_segment,
    (SELECT count(*) FROM ingest_errors) AS refusals,
    (SELECT max(refused_at) FROM ingest_errors) AS last_refusal,
    (SELECT bit_xor(hash(group_id, decided_at)) FROM group_decisions) AS decisions,
    (SELECT count(*) FROM dropped_events) AS dropped,
    (SELECT count(*) FROM forgotten_dumps) AS forgotten
