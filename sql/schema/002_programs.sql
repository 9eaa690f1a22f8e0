-- ETRecords and debug buffers of dumps: what events ran, and the tensors they logged.

ALTER TABLE dumps ADD COLUMN etrecord_id BIGINT;
ALTER TABLE dumps ADD COLUMN debug_buffer_sha256 VARCHAR;
ALTER TABLE debug_values ADD COLUMN sha256 VARCHAR;
ALTER TABLE delegate_metadata ADD COLUMN parsed VARCHAR;

CREATE TABLE tensors (
    sha256 VARCHAR NOT NULL,
    byte_count BIGINT NOT NULL,
    data BLOB NOT NULL
);

CREATE TABLE etrecords (
    etrecord_id BIGINT NOT NULL,
    sha256 VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    byte_count BIGINT NOT NULL
);

CREATE TABLE graph_nodes (
    etrecord_id BIGINT NOT NULL,
    graph VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    node_index INTEGER NOT NULL,
    node VARCHAR NOT NULL,
    op VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    debug_handle BIGINT,
    code VARCHAR NOT NULL,
    stack_trace VARCHAR,
    module_path VARCHAR,
    module_type VARCHAR,
    module_hierarchy VARCHAR NOT NULL
);

CREATE TABLE debug_handles (
    etrecord_id BIGINT NOT NULL,
    method VARCHAR NOT NULL,
    instruction_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    debug_handle BIGINT,
    is_list BOOLEAN NOT NULL,
    output_count BIGINT
);

CREATE TABLE delegates (
    etrecord_id BIGINT NOT NULL,
    method VARCHAR NOT NULL,
    instruction_id INTEGER NOT NULL,
    backend VARCHAR,
    delegate_id VARCHAR,
    position INTEGER NOT NULL,
    debug_handle BIGINT,
    is_list BOOLEAN NOT NULL
);

CREATE TABLE event_origins (
    etrecord_id BIGINT NOT NULL,
    run_signature_id BIGINT NOT NULL,
    event_signature_id BIGINT NOT NULL,
    method VARCHAR,
    delegate_backend VARCHAR,
    debug_handles BIGINT[],
    op_types VARCHAR[] NOT NULL,
    doubt VARCHAR
);

CREATE TABLE event_modules (
    etrecord_id BIGINT NOT NULL,
    run_signature_id BIGINT NOT NULL,
    event_signature_id BIGINT NOT NULL,
    module_path VARCHAR NOT NULL,
    module_type VARCHAR,
    is_total BOOLEAN NOT NULL,
    is_own BOOLEAN NOT NULL
);
