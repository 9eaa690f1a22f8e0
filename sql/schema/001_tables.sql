-- The tables of a store. Names, types and comments equal ingest/schemas.py (a test compares them).
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
COMMENT ON TABLE dumps IS 'One row per accepted dump.';
COMMENT ON COLUMN dumps.dump_id IS 'Number of the dump, from 1, in order of arrival.';
COMMENT ON COLUMN dumps.sha256 IS 'SHA-256 of the dump''s bytes, lower-case hex; unique.';
COMMENT ON COLUMN dumps.source IS 'Path or archive member the dump was first read from.';
COMMENT ON COLUMN dumps.byte_count IS 'Size of the dump in bytes.';
COMMENT ON COLUMN dumps.device_id IS 'Device that ran the model.';
COMMENT ON COLUMN dumps.build_id IS 'Build that was run.';
COMMENT ON COLUMN dumps.model_id IS 'Model that was run.';
COMMENT ON COLUMN dumps.captured_at IS 'Time of recording; null if unknown.';
COMMENT ON COLUMN dumps.ingested_at IS 'Time the dump was committed to the store.';
COMMENT ON COLUMN dumps.tick_unit IS 'Unit of a clock tick: ns, us, ms, s or cycles.';
COMMENT ON COLUMN dumps.ns_per_tick IS 'Nanoseconds per tick; null for cycles of unknown rate.';
COMMENT ON COLUMN dumps.delegate_ns_per_tick IS 'Nanoseconds per tick of delegate events; null for cycles of unknown rate.';
COMMENT ON COLUMN dumps.delegate_resolution_ticks IS 'Largest of 1, 1,000 and 1,000,000 that divides every delegate event''s duration.';
COMMENT ON COLUMN dumps.schema_version IS 'The dump''s own version field, recorded, never guessed at.';
COMMENT ON COLUMN dumps.is_size_prefixed IS 'Whether the file starts with its length (the runtime''s form).';
COMMENT ON COLUMN dumps.n_runs IS 'Runs in the dump.';
COMMENT ON COLUMN dumps.n_events IS 'Profile events in the dump: its rows in events, flagged ones included.';
COMMENT ON COLUMN dumps.n_flagged_events IS 'Profile events whose duration cannot be right; kept, never in a percentile.';
COMMENT ON COLUMN dumps.n_allocations IS 'Allocation events in the dump.';
COMMENT ON COLUMN dumps.n_debug_events IS 'Debug events (logged values) in the dump.';
COMMENT ON COLUMN dumps.n_empty_events IS 'Event tables without any member.';
COMMENT ON COLUMN dumps.manifest IS 'The dump''s manifest as canonical JSON.';

CREATE TABLE devices (
    device_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    pool VARCHAR,
    os VARCHAR,
    os_version VARCHAR,
    arch VARCHAR,
    soc VARCHAR
);
COMMENT ON TABLE devices IS 'One row per distinct state of a device (name and all attributes).';
COMMENT ON COLUMN devices.device_id IS 'Number of the device.';
COMMENT ON COLUMN devices.name IS 'Name of the device.';
COMMENT ON COLUMN devices.pool IS 'Device pool it belongs to.';
COMMENT ON COLUMN devices.os IS 'Operating system.';
COMMENT ON COLUMN devices.os_version IS 'Version of the operating system.';
COMMENT ON COLUMN devices.arch IS 'Processor architecture.';
COMMENT ON COLUMN devices.soc IS 'System on chip or processor.';

CREATE TABLE builds (
    build_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    commit VARCHAR,
    branch VARCHAR,
    committed_at TIMESTAMP WITH TIME ZONE,
    ordinal BIGINT
);
COMMENT ON TABLE builds IS 'One row per build.';
COMMENT ON COLUMN builds.build_id IS 'Number of the build.';
COMMENT ON COLUMN builds.name IS 'The manifest''s build id; unique.';
COMMENT ON COLUMN builds.commit IS 'Source revision it was built from.';
COMMENT ON COLUMN builds.branch IS 'Branch it was built from.';
COMMENT ON COLUMN builds.committed_at IS 'Earliest commit time any dump states.';
COMMENT ON COLUMN builds.ordinal IS 'Position among builds, where the producer numbers them.';

CREATE TABLE models (
    model_id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    backend VARCHAR,
    quantization VARCHAR
);
COMMENT ON TABLE models IS 'One row per model, backend and quantization.';
COMMENT ON COLUMN models.model_id IS 'Number of the model.';
COMMENT ON COLUMN models.name IS 'Name of the model.';
COMMENT ON COLUMN models.backend IS 'Backend it is lowered to.';
COMMENT ON COLUMN models.quantization IS 'Quantization scheme.';

CREATE TABLE runs (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    run_signature_id BIGINT,
    name VARCHAR,
    bundled_input_index INTEGER NOT NULL,
    start_ticks DECIMAL(20, 0),
    n_events INTEGER NOT NULL
);
COMMENT ON TABLE runs IS 'One row per run in a dump, in file order.';
COMMENT ON COLUMN runs.dump_id IS 'Dump the row belongs to; numbered in order of arrival.';
COMMENT ON COLUMN runs.run_index IS 'Position of the run in its dump, from 0.';
COMMENT ON COLUMN runs.run_signature_id IS 'Signature of the run; null if it has no event vector.';
COMMENT ON COLUMN runs.name IS 'Name of the run (event block); null if absent.';
COMMENT ON COLUMN runs.bundled_input_index IS 'Index of the bundled input; -1 when there is none.';
COMMENT ON COLUMN runs.start_ticks IS 'Earliest start of the run''s profile events, counted from its first; null without any.';
COMMENT ON COLUMN runs.n_events IS 'Profile events in the run.';

CREATE TABLE run_signatures (
    run_signature_id BIGINT NOT NULL,
    name VARCHAR,
    bundled_input_index INTEGER NOT NULL,
    events BIGINT[] NOT NULL
);
COMMENT ON TABLE run_signatures IS 'One row per distinct run name, ordered distinct event signatures and bundled input index.';
COMMENT ON COLUMN run_signatures.run_signature_id IS 'Stable 63-bit hash of the signature''s canonical encoding.';
COMMENT ON COLUMN run_signatures.name IS 'Name of the runs; null if absent.';
COMMENT ON COLUMN run_signatures.bundled_input_index IS 'Index of the bundled input; -1 when there is none.';
COMMENT ON COLUMN run_signatures.events IS 'Ids of the distinct event signatures, in the Inspector''s order.';

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
COMMENT ON TABLE event_signatures IS 'One row per distinct event signature.';
COMMENT ON COLUMN event_signatures.event_signature_id IS 'Stable 63-bit hash of the signature''s canonical encoding.';
COMMENT ON COLUMN event_signatures.name IS 'Name of the profile event, or '''' when absent.';
COMMENT ON COLUMN event_signatures.instruction_id IS 'Instruction id; null outside the program (-1).';
COMMENT ON COLUMN event_signatures.delegate_id_int IS 'Integer delegate debug id; null when absent (-1).';
COMMENT ON COLUMN event_signatures.delegate_id_str IS 'String delegate debug id; null when absent or ''''.';
COMMENT ON COLUMN event_signatures.kind IS 'method, load, operator_call, kernel, delegate_call, delegate_op, control or other.';
COMMENT ON COLUMN event_signatures.is_profiled IS 'Whether the signature has a profile event; false for logged values alone.';
COMMENT ON COLUMN event_signatures.is_logged IS 'Whether values were logged for it (debug part of the signature).';
COMMENT ON COLUMN event_signatures.debug_name IS 'Name of the first debug event, or ''''; null when not logged.';
COMMENT ON COLUMN event_signatures.name_hex IS 'Raw bytes of the name as hex where it is not UTF-8; else null.';

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
COMMENT ON TABLE events IS 'One row per profile event, ordered by dump, run signature, event signature, run, occurrence.';
COMMENT ON COLUMN events.dump_id IS 'Dump the row belongs to; numbered in order of arrival.';
COMMENT ON COLUMN events.run_signature_id IS 'Signature of the event''s run.';
COMMENT ON COLUMN events.event_signature_id IS 'Signature of the event.';
COMMENT ON COLUMN events.run_index IS 'Position of the run in its dump, from 0.';
COMMENT ON COLUMN events.occurrence IS '0, 1, ... where the signature repeats within the run (loops).';
COMMENT ON COLUMN events.chain_index IS 'Chain of the instruction; -1 outside instructions.';
COMMENT ON COLUMN events.start_offset_ticks IS 'Start minus the run''s start_ticks, modulo 2^64.';
COMMENT ON COLUMN events.duration_ticks IS 'End minus start, modulo 2^64; plus 2^32 after a 32-bit wrap.';
COMMENT ON COLUMN events.flags IS '0, or bits: 1 32-bit wrap corrected, 2 end before start, 4 longer than 2^63.';

CREATE TABLE allocators (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    allocator_id INTEGER NOT NULL,
    name VARCHAR
);
COMMENT ON TABLE allocators IS 'One row per allocator of a run, in file order.';
COMMENT ON COLUMN allocators.dump_id IS 'Dump the row belongs to; numbered in order of arrival.';
COMMENT ON COLUMN allocators.run_index IS 'Position of the run in its dump, from 0.';
COMMENT ON COLUMN allocators.allocator_id IS 'Number of the allocator in its run, from 1.';
COMMENT ON COLUMN allocators.name IS 'Name of the allocator; null if absent.';

CREATE TABLE allocations (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    event_index INTEGER NOT NULL,
    allocator_id INTEGER NOT NULL,
    allocator VARCHAR,
    bytes DECIMAL(20, 0) NOT NULL
);
COMMENT ON TABLE allocations IS 'One row per allocation event, in file order.';
COMMENT ON COLUMN allocations.dump_id IS 'Dump the row belongs to; numbered in order of arrival.';
COMMENT ON COLUMN allocations.run_index IS 'Position of the run in its dump, from 0.';
COMMENT ON COLUMN allocations.event_index IS 'Position of the event in its run, from 0.';
COMMENT ON COLUMN allocations.allocator_id IS 'Allocator the memory came from, from 1.';
COMMENT ON COLUMN allocations.allocator IS 'Name of that allocator; null if the run has none of that id.';
COMMENT ON COLUMN allocations.bytes IS 'Size of the allocation in bytes.';

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
COMMENT ON TABLE debug_values IS 'One row per logged value, in file order; a tensor list has one row per tensor.';
COMMENT ON COLUMN debug_values.dump_id IS 'Dump the row belongs to; numbered in order of arrival.';
COMMENT ON COLUMN debug_values.run_index IS 'Position of the run in its dump, from 0.';
COMMENT ON COLUMN debug_values.event_index IS 'Position of the event in its run, from 0.';
COMMENT ON COLUMN debug_values.chain_index IS 'Chain of the instruction; -1 outside instructions.';
COMMENT ON COLUMN debug_values.instruction_id IS 'Instruction id; null outside the program (-1).';
COMMENT ON COLUMN debug_values.delegate_id_int IS 'Integer delegate debug id; null when absent (-1).';
COMMENT ON COLUMN debug_values.delegate_id_str IS 'String delegate debug id; null when absent or ''''.';
COMMENT ON COLUMN debug_values.name IS 'Name of the debug event; null if absent.';
COMMENT ON COLUMN debug_values.position IS 'Position among the values the run logs for the same instruction, chain and delegate id, outputs apart.';
COMMENT ON COLUMN debug_values.element_index IS 'Position in a tensor list; null for other values and empty lists.';
COMMENT ON COLUMN debug_values.value_type IS 'null, int, bool, float, double, tensor, tensor_list, string, or ''missing'' without an entry.';
COMMENT ON COLUMN debug_values.int_value IS 'Value of an int or bool (0, 1); null for others or if missing.';
COMMENT ON COLUMN debug_values.double_value IS 'Value of a float or double; null for others or if missing.';
COMMENT ON COLUMN debug_values.dtype IS 'Tensor element type, e.g. float32; null for others.';
COMMENT ON COLUMN debug_values.sizes IS 'Tensor shape; null for others or if absent.';
COMMENT ON COLUMN debug_values.strides IS 'Tensor strides in elements; null for others or if absent.';
COMMENT ON COLUMN debug_values.tensor_offset IS 'Byte offset of the tensor in the debug buffer; null for others.';
COMMENT ON COLUMN debug_values.is_output IS 'Whether the value is a program output.';

CREATE TABLE delegate_metadata (
    dump_id INTEGER NOT NULL,
    run_index INTEGER NOT NULL,
    event_signature_id BIGINT NOT NULL,
    occurrence INTEGER NOT NULL,
    metadata BLOB NOT NULL
);
COMMENT ON TABLE delegate_metadata IS 'One row per profile event that carries delegate metadata bytes, in file order.';
COMMENT ON COLUMN delegate_metadata.dump_id IS 'Dump the row belongs to; numbered in order of arrival.';
COMMENT ON COLUMN delegate_metadata.run_index IS 'Position of the run in its dump, from 0.';
COMMENT ON COLUMN delegate_metadata.event_signature_id IS 'Signature of the event.';
COMMENT ON COLUMN delegate_metadata.occurrence IS 'Which of the signature''s events in the run, from 0.';
COMMENT ON COLUMN delegate_metadata.metadata IS 'The delegate''s bytes, as written.';

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
COMMENT ON TABLE event_stats IS 'One row per dump and event signature; flagged events are left out.';
COMMENT ON COLUMN event_stats.dump_id IS 'Dump the row belongs to; numbered in order of arrival.';
COMMENT ON COLUMN event_stats.event_signature_id IS 'Signature of the events.';
COMMENT ON COLUMN event_stats.sample_count IS 'Events counted, at least 1.';
COMMENT ON COLUMN event_stats.zero_count IS 'Events of duration zero among them.';
COMMENT ON COLUMN event_stats.min_ticks IS 'Shortest duration.';
COMMENT ON COLUMN event_stats.max_ticks IS 'Longest duration.';
COMMENT ON COLUMN event_stats.sum_ticks IS 'Sum of durations.';
COMMENT ON COLUMN event_stats.p10_ticks IS '10th percentile, linear interpolation.';
COMMENT ON COLUMN event_stats.p50_ticks IS 'Median, linear interpolation.';
COMMENT ON COLUMN event_stats.p90_ticks IS '90th percentile, linear interpolation.';
COMMENT ON COLUMN event_stats.p95_ticks IS '95th percentile, linear interpolation.';
COMMENT ON COLUMN event_stats.p99_ticks IS '99th percentile, linear interpolation.';
COMMENT ON COLUMN event_stats.steady_count IS 'Events after warm-up (from the signature''s sixth run on).';
COMMENT ON COLUMN event_stats.steady_p50_ticks IS 'Median after warm-up; null without such events.';

CREATE TABLE ingest_errors (
    source VARCHAR NOT NULL,
    sha256 VARCHAR,
    reason VARCHAR NOT NULL,
    byte_offset BIGINT,
    detail VARCHAR NOT NULL,
    refused_at TIMESTAMP WITH TIME ZONE NOT NULL
);
COMMENT ON TABLE ingest_errors IS 'One row per file that was refused, in order of refusal.';
COMMENT ON COLUMN ingest_errors.source IS 'Path or archive member that was refused.';
COMMENT ON COLUMN ingest_errors.sha256 IS 'SHA-256 of its bytes, if they were read.';
COMMENT ON COLUMN ingest_errors.reason IS 'Machine-readable reason, e.g. truncated, manifest, conflict.';
COMMENT ON COLUMN ingest_errors.byte_offset IS 'Offset of the first fault; null where none applies.';
COMMENT ON COLUMN ingest_errors.detail IS 'What was found and what was wanted.';
COMMENT ON COLUMN ingest_errors.refused_at IS 'Time of the refusal.';

CREATE TABLE mann_whitney_exact (
    n_small INTEGER NOT NULL,
    n_large INTEGER NOT NULL,
    u INTEGER NOT NULL,
    p DOUBLE NOT NULL
);
COMMENT ON TABLE mann_whitney_exact IS 'Exact two-sided null distribution of the Mann-Whitney U for up to 30 dumps a side, p up to 0.2.';
COMMENT ON COLUMN mann_whitney_exact.n_small IS 'Size of the smaller sample, at least 1.';
COMMENT ON COLUMN mann_whitney_exact.n_large IS 'Size of the larger sample, at most 30.';
COMMENT ON COLUMN mann_whitney_exact.u IS 'The smaller of U and n_small * n_large - U.';
COMMENT ON COLUMN mann_whitney_exact.p IS 'Probability of a U at least as extreme, both sides.';

CREATE TABLE schema_migrations (
    number INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    applied_at TIMESTAMP WITH TIME ZONE NOT NULL,
    applied_by VARCHAR NOT NULL
);
COMMENT ON TABLE schema_migrations IS 'One row per migration applied to this store.';
COMMENT ON COLUMN schema_migrations.number IS 'Number of the migration, from 1.';
COMMENT ON COLUMN schema_migrations.name IS 'Name of its .sql file, without number and suffix.';
COMMENT ON COLUMN schema_migrations.applied_at IS 'Time it was applied.';
COMMENT ON COLUMN schema_migrations.applied_by IS 'Version of tracehouse that applied it.';

CREATE TABLE schema_views (
    sha256 VARCHAR NOT NULL
);
COMMENT ON TABLE schema_views IS 'One row: which version of the views this store has.';
COMMENT ON COLUMN schema_views.sha256 IS 'SHA-256 of the text of all views, hex.';
