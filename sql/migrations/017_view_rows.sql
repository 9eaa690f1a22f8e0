-- Rows of views that the writer keeps for readers; the first checkpoint fills the tables.
CREATE TABLE rows_of_named_event_signatures (
    event_signature_id BIGINT NOT NULL,
    event_name VARCHAR NOT NULL,
    instruction_id INTEGER,
    delegate_id VARCHAR,
    kind VARCHAR NOT NULL,
    op_type VARCHAR,
    unit VARCHAR,
    unit_ns DOUBLE
);
CREATE TABLE rows_of_named_run_signatures (
    dump_id INTEGER NOT NULL,
    run_signature_id BIGINT NOT NULL,
    run VARCHAR NOT NULL,
    run_name VARCHAR,
    is_execution BOOLEAN NOT NULL,
    has_variants BOOLEAN NOT NULL
);
CREATE TABLE rows_of_program_events (
    run_signature_id BIGINT NOT NULL,
    event_signature_id BIGINT NOT NULL,
    place INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    event_name VARCHAR NOT NULL,
    delegate_id VARCHAR,
    instruction_id INTEGER,
    kind VARCHAR NOT NULL,
    op_type VARCHAR
);
CREATE TABLE rows_of_aligned_operators (
    model VARCHAR NOT NULL,
    backend VARCHAR,
    run VARCHAR NOT NULL,
    run_signature_id BIGINT NOT NULL,
    event_signature_id BIGINT NOT NULL,
    event_name VARCHAR NOT NULL,
    delegate_id VARCHAR,
    ordinal INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    op_type VARCHAR
);
CREATE TABLE view_rows_state (
    last_dump INTEGER NOT NULL,
    last_build INTEGER NOT NULL,
    last_device INTEGER NOT NULL,
    last_model INTEGER NOT NULL,
    content VARCHAR NOT NULL,
    views VARCHAR NOT NULL
)
