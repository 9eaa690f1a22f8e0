"""The tables of a lake: a store's tables, with ids that are the same on every machine. Pure."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.dumps import STORED

FORMAT = 1
SCHEMA = 18  # number of the store schema with these tables
WIDE_IDS = ("dump_id", "device_id", "build_id", "model_id")

# Tables of a store itself.
_NOT_SHARED = {
    "archive_segments", "archived_files", "judged_nights", "build_order",
}  # fmt: skip


def _widened(schema: pa.Schema) -> pa.Schema:
    fields = [one.with_type(pa.int64()) if one.name in WIDE_IDS else one for one in schema]
    return pa.schema(fields, schema.metadata)


TABLES: dict[str, pa.Schema] = {
    name: _widened(schema) for name, schema in STORED.items() if name not in _NOT_SHARED
}
# Tables whose rows belong to one dump, in the order of writing: `dumps`, which lists them, is last.
FACTS = sorted((name for name in TABLES if "dump_id" in TABLES[name].names), key="dumps".__eq__)
# Tables with rows that dumps share, and their key columns.
SHARED_TABLES: dict[str, tuple[str, ...]] = {
    "devices": ("device_id",),
    "builds": tuple(TABLES["builds"].names),
    "models": ("model_id",),
    "run_signatures": ("run_signature_id",),
    "event_signatures": ("event_signature_id",),
    "tensors": ("sha256",),
    "etrecords": ("etrecord_id",),
    "graph_nodes": ("etrecord_id",),
    "debug_handles": ("etrecord_id",),
    "delegates": ("etrecord_id",),
    "event_origins": ("etrecord_id", "run_signature_id"),
    "event_modules": ("etrecord_id", "run_signature_id"),
    "ingest_errors": tuple(TABLES["ingest_errors"].names),
    "forgotten_dumps": tuple(TABLES["forgotten_dumps"].names),
    "group_decisions": tuple(TABLES["group_decisions"].names),
}
