"""An ETRecord -> Arrow tables. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from ingest.etrecord import EtRecord
from ingest.etrecord_graphs import Graph
from ingest.etrecord_maps import Handles
from ingest.graph_code import code_lines
from ingest.program_schemas import PROGRAM_TABLES


def etrecord_id(record: EtRecord) -> int:
    """The ETRecord's id: the first 8 bytes of its SHA-256, the top bit cleared."""
    return int(record.sha256[:16], 16) & (2**63 - 1)


def build_etrecord_tables(record: EtRecord) -> dict[str, pa.Table]:
    """The tables etrecords, graph_nodes, debug_handles and delegates, rows in the file's order.

    All programs of the ETRecord are read; one that cannot be raises EtRecordError.
    """
    id_ = etrecord_id(record)
    nodes = (row for graph in record.graphs for row in _node_rows(graph))
    rows = {
        "etrecords": iter([(record.sha256, record.source, record.byte_count)]),
        "graph_nodes": nodes,
        "debug_handles": _handle_rows(record),
        "delegates": _delegate_rows(record),
    }
    return {
        name: _table(schema, [(id_, *row) for row in rows[name]])
        for name, schema in PROGRAM_TABLES.items()
    }


def _table(schema: pa.Schema, rows: list[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _node_rows(graph: Graph) -> Iterator[tuple[object, ...]]:
    for index, (node, code) in enumerate(zip(graph.nodes, code_lines(graph), strict=True)):
        innermost = list(node.module_hierarchy.values())[-1:]
        path, type_ = innermost[0] if innermost and innermost[0] else (None, None)
        hierarchy = json.dumps(node.module_hierarchy, ensure_ascii=False)
        where = (graph.name, graph.method, graph.scope, index)
        handles: list[int | None] = [*node.debug_handles] or [None]
        for handle in handles:
            what = (node.name, node.op, node.target, handle, code, node.stack_trace)
            yield *where, *what, path, type_, hierarchy


def _handle_rows(record: EtRecord) -> Iterator[tuple[object, ...]]:
    for method, instructions in record.debug_handles.items():
        counts = record.num_outputs.get(method, {})
        for instruction, handles in instructions.items():
            for place in _places(handles):
                yield method, instruction, *place, counts.get(instruction)


def _delegate_rows(record: EtRecord) -> Iterator[tuple[object, ...]]:
    for method, instructions in record.delegates.items():
        for instruction, delegate in instructions.items():
            if not delegate.handles:
                yield method, instruction, delegate.name, None, 0, None, False
            for id_, handles in delegate.handles.items():
                for place in _places(handles):
                    yield method, instruction, delegate.name, id_, *place


def _places(handles: Handles) -> Iterator[tuple[int, int | None, bool]]:
    """Position, handle and whether it stands in a list."""
    if isinstance(handles, int):
        yield 0, handles, False
    elif not handles:
        yield 0, None, True
    else:
        yield from ((position, handle, True) for position, handle in enumerate(handles))
