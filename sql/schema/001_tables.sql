-- The tables of a store. Names and types equal ingest/schemas (a test compares them), which says
-- what each means.
-- No foreign keys and no indexes: the single writer keeps them true, and they cost 3.5x at ingest.

CREATE TABLE dumps (
    dump_id INTEGER NOT NULL,
    sha256 VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    byte_count BIGINT NOT NULL,
    device_id INTEGER NOT NULL,
    build_id INTEGER NOT NULL,
    model_id INTEGER NOT NULL,
    captured_at TIMESTAMP WITH TIME ZONE,
    ingested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    tick_unit VARCHAR NOT NULL,
    ns_per_tick DOUBLE,
    delegate_ns_per_tick DOUBLE,
    delegate_resolution_ticks BIGINT NOT NULL,
    schema_version BIGINT NOT NULL,
    is_size_prefixed BOOLEAN NOT NULL,
    n_runs INTEGER NOT NULL,
    n_events BIGINT NOT NULL,
    n_flagged_events BIGINT NOT NULL,
    n_allocations BIGINT NOT NULL,
    n_debug_events BIGINT NOT NULL,
    n_empty_events BIGINT NOT NULL,
    manifest VARCHAR NOT NULL
);

CREATE TABLE devices (
    device_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    pool VARCHAR,
    os VARCHAR,
    os_version VARCHAR,
    arch VARCHAR,
    soc VARCHAR
);

CREATE TABLE builds (
    build_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    commit VARCHAR,
    branch VARCHAR,
    committed_at TIMESTAMP WITH TIME ZONE,
    ordinal BIGINT
);

CREATE TABLE models (
    model_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    backend VARCHAR,
    quantization VARCHAR
);

CREATE TABLE runs (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    run_signature_id BIGINT,
    name VARCHAR,
    bundled_input_index INTEGER NOT NULL,
    start_ticks DECIMAL(20, 0),
    n_events INTEGER NOT NULL
);

CREATE TABLE run_signatures (
    run_signature_id BIGINT NOT NULL,
    name VARCHAR,
    bundled_input_index INTEGER NOT NULL,
    events BIGINT[] NOT NULL
);

CREATE TABLE event_signatures (
    event_signature_id BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    instruction_id INTEGER,
    delegate_id_int INTEGER,
    delegate_id_str VARCHAR,
    kind VARCHAR NOT NULL,
    is_profiled BOOLEAN NOT NULL,
    is_logged BOOLEAN NOT NULL,
    debug_name VARCHAR,
    name_hex VARCHAR
);

-- The compression named is what DuckDB would choose; naming it saves a quarter of the insert.
CREATE TABLE events (
    dump_id INTEGER NOT NULL USING COMPRESSION rle,
    run_signature_id BIGINT NOT NULL USING COMPRESSION rle,
    event_signature_id BIGINT NOT NULL USING COMPRESSION rle,
    run_index INTEGER NOT NULL USING COMPRESSION bitpacking,
    occurrence INTEGER NOT NULL,
    chain_index INTEGER NOT NULL USING COMPRESSION rle,
    start_offset_ticks BIGINT NOT NULL USING COMPRESSION bitpacking,
    duration_ticks BIGINT NOT NULL USING COMPRESSION bitpacking,
    flags INTEGER NOT NULL USING COMPRESSION rle
);

CREATE TABLE allocators (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    allocator_id INTEGER NOT NULL,
    name VARCHAR
);

CREATE TABLE allocations (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    allocator_id INTEGER NOT NULL,
    allocator VARCHAR,
    bytes DECIMAL(20, 0) NOT NULL
);

CREATE TABLE debug_values (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    chain_index BIGINT NOT NULL,
    instruction_id INTEGER,
    delegate_id_int INTEGER,
    delegate_id_str VARCHAR,
    name VARCHAR,
    position INTEGER NOT NULL,
    element_index INTEGER,
    value_type VARCHAR NOT NULL,
    int_value BIGINT,
    double_value DOUBLE,
    dtype VARCHAR,
    sizes BIGINT[],
    strides BIGINT[],
    tensor_offset BIGINT,
    is_output BOOLEAN NOT NULL
);

CREATE TABLE delegate_metadata (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    event_signature_id BIGINT NOT NULL,
    occurrence INTEGER NOT NULL,
    metadata BLOB NOT NULL
);

CREATE TABLE event_stats (
    dump_id INTEGER NOT NULL,
    event_signature_id BIGINT NOT NULL,
    sample_count BIGINT NOT NULL,
    zero_count BIGINT NOT NULL,
    min_ticks BIGINT NOT NULL,
    max_ticks BIGINT NOT NULL,
    sum_ticks DOUBLE NOT NULL,
    p10_ticks DOUBLE NOT NULL,
    p50_ticks DOUBLE NOT NULL,
    p90_ticks DOUBLE NOT NULL,
    p95_ticks DOUBLE NOT NULL,
    p99_ticks DOUBLE NOT NULL,
    steady_count BIGINT NOT NULL,
    steady_p50_ticks DOUBLE
);

CREATE TABLE ingest_errors (
    source VARCHAR NOT NULL,
    sha256 VARCHAR,
    reason VARCHAR NOT NULL,
    byte_offset BIGINT,
    detail VARCHAR NOT NULL,
    refused_at TIMESTAMP WITH TIME ZONE NOT NULL
);

CREATE TABLE mann_whitney_exact (
    n_small INTEGER NOT NULL,
    n_large INTEGER NOT NULL,
    u INTEGER NOT NULL,
    p DOUBLE NOT NULL
);

CREATE TABLE schema_migrations (
    number INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    applied_at TIMESTAMP WITH TIME ZONE NOT NULL,
    applied_by VARCHAR NOT NULL
);

CREATE TABLE schema_views (
    sha256 VARCHAR NOT NULL
);
