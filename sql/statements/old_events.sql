-- Dumps from before $before that have events, except those of builds that match $kept.
SELECT dump_id, sha256, source, build, n_events,
    CAST(n_events * $event_bytes AS BIGINT) AS event_bytes,
    coalesce(captured_at, ingested_at) AS taken_at
FROM named_dumps
WHERE coalesce(captured_at, ingested_at) < $before
    AND NOT coalesce(build GLOB $kept, false)
    AND dump_id NOT IN (SELECT dump_id FROM dropped_events)
ORDER BY dump_id
