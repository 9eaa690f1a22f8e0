"""An ETRecord -> Arrow tables. Pure.

A node's texts are repeated in a row per debug handle. All rows together take at most FREE_BYTES
plus BYTES_PER_BYTE per byte of the ETRecord, and at most MAX_BYTES.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import pyarrow as pa

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.graphs import Graph, code_lines
from tracehouse.ingest.etrecord.maps import Handles
from tracehouse.ingest.etrecord.record import EtRecord
from tracehouse.ingest.schemas.programs import PROGRAM_TABLES

FREE_BYTES = 64 << 20
BYTES_PER_BYTE = 64
MAX_BYTES = 2 << 30

_ROW_BYTES = 200  # of a row without its texts
_ROWS_AT_ONCE = 10_000

_Row = tuple[object, ...]


def etrecord_id(record: EtRecord) -> int:
    """The ETRecord's id: the first 8 bytes of its SHA-256, the top bit cleared.

    An ETRecord restricted to a method has another id, from the hash of "SHA256 METHOD".
    """
    hash_ = record.sha256
    if record.method is not None:
        hash_ = hashlib.sha256(f"{hash_} {record.method}".encode()).hexdigest()
    return int(hash_[:16], 16) & (2**63 - 1)


def build_etrecord_tables(record: EtRecord) -> dict[str, pa.Table]:
    """The tables etrecords, graph_nodes, debug_handles and delegates, rows in the file's order.

    All programs of the ETRecord are read; an unreadable one raises EtRecordError.

    Raises:
        EtRecordError: The rows would take too many bytes.
    """
    most = min(FREE_BYTES + BYTES_PER_BYTE * record.byte_count, MAX_BYTES)
    allowance = Allowance(most, "bytes of rows")
    nodes = chain.from_iterable(map(_node_rows, record.read_graphs()))
    rows: dict[str, Iterable[_Row]] = {
        "etrecords": iter([(record.sha256, record.source, record.byte_count)]),
        "graph_nodes": nodes,
        "debug_handles": _handle_rows(record),
        "delegates": _delegate_rows(record),
    }
    try:
        return {
            name: _table(schema, _charged(rows[name], etrecord_id(record), allowance))
            for name, schema in PROGRAM_TABLES.items()
        }
    except AllowanceError as error:
        remedy = "save it again with fewer programs"
        raise EtRecordError(record.source, f"in tables {error}; {remedy}") from error


def _charged(rows: Iterable[_Row], id_: int, allowance: Allowance) -> Iterator[_Row]:
    for row in rows:
        allowance.take(_ROW_BYTES + sum(len(value) for value in row if isinstance(value, str)))
        yield id_, *row


def _table(schema: pa.Schema, rows: Iterator[_Row]) -> pa.Table:
    batches = []
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
        batches.append(pa.record_batch(arrays, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _node_rows(graph: Graph) -> Iterator[_Row]:
    for index, (node, code) in enumerate(zip(graph.nodes, code_lines(graph), strict=True)):
        innermost = list(node.module_hierarchy.values())[-1:]
        path, type_ = innermost[0] if innermost and innermost[0] else (None, None)
        hierarchy = json.dumps(node.module_hierarchy, ensure_ascii=False)
        where = (graph.name, graph.method, graph.scope, index)
        handles: list[int | None] = [*node.debug_handles] or [None]
        for handle in handles:
            what = (node.name, node.op, node.target, handle, code, node.stack_trace)
            yield *where, *what, path, type_, hierarchy


def _handle_rows(record: EtRecord) -> Iterator[_Row]:
    for method, instructions in record.debug_handles.items():
        counts = record.num_outputs.get(method, {})
        for instruction, handles in instructions.items():
            for place in _places(handles):
                yield method, instruction, *place, counts.get(instruction)


def _delegate_rows(record: EtRecord) -> Iterator[_Row]:
    for method, instructions in record.delegates.items():
        for instruction, delegate in instructions.items():
            if not delegate.handles:
                yield method, instruction, delegate.name, None, 0, None, False
            for id_, handles in delegate.handles.items():
                for place in _places(handles):
                    yield method, instruction, delegate.name, id_, *place


def _places(handles: Handles) -> Iterator[tuple[int, int | None, bool]]:
    """Position, handle and whether the handle is in a list."""
    if isinstance(handles, int):
        yield 0, handles, False
    elif not handles:
        yield 0, None, True
    else:
        yield from ((position, handle, True) for position, handle in enumerate(handles))
