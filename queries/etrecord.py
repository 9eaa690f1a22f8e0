"""An ETRecord as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa

from tracehouse.ingest.etrecord.graphs import Graph, code_lines
from tracehouse.ingest.etrecord.record import EtRecord


def handle_table(record: EtRecord) -> pa.Table:
    """One row per instruction of the debug-handle maps, in the ETRecord's order.

    Columns: method, instruction_id, debug_handles (a text, such as "1, 2") and output_count, which
    is null if the ETRecord does not have it.
    """
    rows = [
        (method, instruction, _text(handles), record.num_outputs.get(method, {}).get(instruction))
        for method, instructions in record.debug_handles.items()
        for instruction, handles in instructions.items()
    ]
    return _table(rows, method=str, instruction_id=int, debug_handles=str, output_count=int)


def delegate_table(record: EtRecord) -> pa.Table:
    """One row per id of a delegated instruction, in the ETRecord's order.

    Columns: method, instruction_id, backend, delegate_id and debug_handles. An instruction without
    ids has one row, in which delegate_id is null and debug_handles is empty.
    """
    no_ids: list[tuple[str | None, list[int]]] = [(None, [])]
    rows = [
        (method, instruction, delegate.name, id_, _text(handles))
        for method, instructions in record.delegates.items()
        for instruction, delegate in instructions.items()
        for id_, handles in delegate.handles.items() or no_ids
    ]
    return _table(
        rows, method=str, instruction_id=int, backend=str, delegate_id=str, debug_handles=str
    )


def _text(handles: int | list[int]) -> str:
    return str(handles) if isinstance(handles, int) else ", ".join(map(str, handles))


def _table(rows: Sequence[tuple[object, ...]], **types: type[str | int]) -> pa.Table:
    kinds = {str: pa.string(), int: pa.int64()}
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    arrays = [pa.array(c, kinds[type_]) for c, type_ in zip(columns, types.values(), strict=True)]
    return pa.table(arrays, names=list(types))


def etrecord_json(record: EtRecord) -> dict[str, object]:
    """The ETRecord as plain values for a JSON writer; docs/json.md lists their names.

    Maps and graphs are in the ETRecord's order. Each node also has its line of `code`.
    """
    delegates = {
        method: {instruction: asdict(delegate) for instruction, delegate in instructions.items()}
        for method, instructions in record.delegates.items()
    }
    return {
        "source": record.source,
        "sha256": record.sha256,
        "debug_handles": record.debug_handles,
        "delegates": delegates,
        "num_outputs": record.num_outputs,
        "graphs": [_graph_json(graph) for graph in record.graphs],
    }


def _graph_json(graph: Graph) -> dict[str, object]:
    nodes = [
        asdict(node) | {"code": code}
        for node, code in zip(graph.nodes, code_lines(graph), strict=True)
    ]
    return {"name": graph.name, "method": graph.method, "scope": graph.scope, "nodes": nodes}
