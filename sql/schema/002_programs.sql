-- ETRecords and debug buffers of dumps: what events ran, and the tensors they logged.

ALTER TABLE dumps ADD COLUMN etrecord_id BIGINT;
COMMENT ON COLUMN dumps.etrecord_id IS 'ETRecord of its program; null if none was given.';
ALTER TABLE dumps ADD COLUMN debug_buffer_sha256 VARCHAR;
COMMENT ON COLUMN dumps.debug_buffer_sha256 IS 'SHA-256 of its debug buffer, hex; null if none was given.';
ALTER TABLE debug_values ADD COLUMN sha256 VARCHAR;
COMMENT ON COLUMN debug_values.sha256 IS 'SHA-256 of a tensor''s bytes in logical C order, lower-case hex; null without one or its content.';
ALTER TABLE delegate_metadata ADD COLUMN parsed VARCHAR;
COMMENT ON COLUMN delegate_metadata.parsed IS 'What they say, as JSON; null if neither JSON nor known to a parser.';

CREATE TABLE tensors (
    sha256 VARCHAR NOT NULL,
    byte_count BIGINT NOT NULL,
    data BLOB NOT NULL
);
COMMENT ON TABLE tensors IS 'One row per distinct content of logged tensors, whatever their dtype.';
COMMENT ON COLUMN tensors.sha256 IS 'SHA-256 of a tensor''s bytes in logical C order, lower-case hex; unique.';
COMMENT ON COLUMN tensors.byte_count IS 'Size in bytes.';
COMMENT ON COLUMN tensors.data IS 'The bytes, little-endian; dtype and sizes stand in debug_values.';

CREATE TABLE etrecords (
    etrecord_id BIGINT NOT NULL,
    sha256 VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    byte_count BIGINT NOT NULL
);
COMMENT ON TABLE etrecords IS 'One row per ETRecord.';
COMMENT ON COLUMN etrecords.etrecord_id IS 'First 8 bytes of the SHA-256, top bit cleared.';
COMMENT ON COLUMN etrecords.sha256 IS 'SHA-256 of the ETRecord''s bytes, lower-case hex; unique.';
COMMENT ON COLUMN etrecords.source IS 'Path or archive member it was read from.';
COMMENT ON COLUMN etrecords.byte_count IS 'Size in bytes.';

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
COMMENT ON TABLE graph_nodes IS 'One row per node of a graph and debug handle; a node without a handle has one row.';
COMMENT ON COLUMN graph_nodes.etrecord_id IS 'ETRecord the row belongs to.';
COMMENT ON COLUMN graph_nodes.graph IS 'edge_dialect_exported_program, exported_program, or a name of the graph map.';
COMMENT ON COLUMN graph_nodes.method IS 'Method of the program.';
COMMENT ON COLUMN graph_nodes.scope IS ''''' for the program''s main graph; else the names of the nodes that hold the graph.';
COMMENT ON COLUMN graph_nodes.node_index IS 'Position of the node in its graph, from 0.';
COMMENT ON COLUMN graph_nodes.node IS 'Name of the node, unique in its graph.';
COMMENT ON COLUMN graph_nodes.op IS 'placeholder, call_function or output.';
COMMENT ON COLUMN graph_nodes.target IS 'What is called, e.g. aten.convolution.default.';
COMMENT ON COLUMN graph_nodes.debug_handle IS 'Debug handle; null without one.';
COMMENT ON COLUMN graph_nodes.code IS 'The node as a line of code, with the types of its results.';
COMMENT ON COLUMN graph_nodes.stack_trace IS 'Its place in the model''s source.';
COMMENT ON COLUMN graph_nodes.module_path IS 'Innermost module, e.g. layers.0.attn.';
COMMENT ON COLUMN graph_nodes.module_type IS 'Class of that module.';
COMMENT ON COLUMN graph_nodes.module_hierarchy IS 'JSON object of [path, class] by module, from the outermost: {"L__self__c": ["c", ...]}.';

CREATE TABLE debug_handles (
    etrecord_id BIGINT NOT NULL,
    method VARCHAR NOT NULL,
    instruction_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    debug_handle BIGINT,
    is_list BOOLEAN NOT NULL,
    output_count BIGINT
);
COMMENT ON TABLE debug_handles IS 'One row per instruction and debug handle; an instruction with an empty list has one row.';
COMMENT ON COLUMN debug_handles.etrecord_id IS 'ETRecord the row belongs to.';
COMMENT ON COLUMN debug_handles.method IS 'Method of the program.';
COMMENT ON COLUMN debug_handles.instruction_id IS 'Instruction of the method.';
COMMENT ON COLUMN debug_handles.position IS 'Position of the handle in its list, from 0.';
COMMENT ON COLUMN debug_handles.debug_handle IS 'The handle; null for an empty list.';
COMMENT ON COLUMN debug_handles.is_list IS 'Whether the ETRecord has a list here, be it of one.';
COMMENT ON COLUMN debug_handles.output_count IS 'Outputs of the instruction; null where not recorded (outside delegate calls).';

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
COMMENT ON TABLE delegates IS 'One row per delegate call, delegate id and debug handle; a call without ids has one row.';
COMMENT ON COLUMN delegates.etrecord_id IS 'ETRecord the row belongs to.';
COMMENT ON COLUMN delegates.method IS 'Method of the program.';
COMMENT ON COLUMN delegates.instruction_id IS 'Instruction of the method.';
COMMENT ON COLUMN delegates.backend IS 'Name of the backend; null if absent.';
COMMENT ON COLUMN delegates.delegate_id IS 'Delegate id, ints as text; null without.';
COMMENT ON COLUMN delegates.position IS 'Position of the handle in its list, from 0.';
COMMENT ON COLUMN delegates.debug_handle IS 'The handle; null without one.';
COMMENT ON COLUMN delegates.is_list IS 'Whether the ETRecord has a list here, be it of one.';

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
COMMENT ON TABLE event_origins IS 'One row per ETRecord, run signature of its dumps and event signature: what the event ran.';
COMMENT ON COLUMN event_origins.etrecord_id IS 'ETRecord the row belongs to.';
COMMENT ON COLUMN event_origins.run_signature_id IS 'Signature of the event''s run.';
COMMENT ON COLUMN event_origins.event_signature_id IS 'Signature of the event.';
COMMENT ON COLUMN event_origins.method IS 'Method of the run; null if that cannot be told.';
COMMENT ON COLUMN event_origins.delegate_backend IS 'Backend it ran on; null outside delegates.';
COMMENT ON COLUMN event_origins.debug_handles IS 'Its handles; null without.';
COMMENT ON COLUMN event_origins.op_types IS 'Operator of each node with one of them.';
COMMENT ON COLUMN event_origins.doubt IS 'What ETRecord and run disagree on; null if nothing.';

CREATE TABLE event_modules (
    etrecord_id BIGINT NOT NULL,
    run_signature_id BIGINT NOT NULL,
    event_signature_id BIGINT NOT NULL,
    module_path VARCHAR NOT NULL,
    module_type VARCHAR,
    is_total BOOLEAN NOT NULL,
    is_own BOOLEAN NOT NULL
);
COMMENT ON TABLE event_modules IS 'One row per ETRecord, run signature, event signature and module whose time the event is.';
COMMENT ON COLUMN event_modules.etrecord_id IS 'ETRecord the row belongs to.';
COMMENT ON COLUMN event_modules.run_signature_id IS 'Signature of the event''s run.';
COMMENT ON COLUMN event_modules.event_signature_id IS 'Signature of the event.';
COMMENT ON COLUMN event_modules.module_path IS 'Module, e.g. layers.0.attn; '''' is the whole program.';
COMMENT ON COLUMN event_modules.module_type IS 'Class of the module; null if it is only the path that others lie in, as a list is.';
COMMENT ON COLUMN event_modules.is_total IS 'Whether it counts for the module with all inside it.';
COMMENT ON COLUMN event_modules.is_own IS 'Whether it counts for the module''s own nodes alone.';
