-- Digests of dumps. Dumps of earlier releases get theirs when they are first verified.
CREATE TABLE dump_digests (
    dump_id INTEGER NOT NULL,
    dumps BIGINT,
    runs BIGINT,
    events BIGINT,
    allocators BIGINT,
    allocations BIGINT,
    debug_values BIGINT,
    delegate_metadata BIGINT,
    counters BIGINT,
    event_stats BIGINT,
    event_histograms BIGINT,
    run_totals BIGINT,
    event_totals BIGINT,
    dropped_events BIGINT,
    damaged VARCHAR
)
