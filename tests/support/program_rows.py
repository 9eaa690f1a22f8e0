"""Rows of a store about events, as an ETRecord gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tracehouse.ingest.etrecord.names import EDGE_PROGRAM

Row = dict[str, Any]


def program_rows(
    etrecord_id: int, run_signature: int, events: Iterable[tuple[Any, int]]
) -> Iterator[tuple[str, Row]]:
    """Table and row for each fact about the events of a run, with their signatures.

    An event counts for its `modules`, and for the own nodes of the last of them; its `line`, as
    "FILE:NUMBER", is that of its only node, and `ran_on` the backend of its delegate.
    """
    for event, signature in events:
        of_event = {
            "etrecord_id": etrecord_id,
            "run_signature_id": run_signature,
            "event_signature_id": signature,
        }
        for path in event.modules:
            yield "event_modules", of_event | _module(path, is_own=path == event.modules[-1])
        if event.line or event.ran_on:
            yield "event_origins", of_event | _origin(event, signature)
        if event.line:
            yield "graph_nodes", {"etrecord_id": etrecord_id} | _node(event, signature)


def _module(path: str, *, is_own: bool) -> Row:
    module_type = "Net" if path == "" else "Layer"
    return {"module_path": path, "module_type": module_type, "is_total": True, "is_own": is_own}


def _origin(event: Any, handle: int) -> Row:
    return {"delegate_backend": event.ran_on, "debug_handles": [handle], "op_types": []}


def _node(event: Any, handle: int) -> Row:
    file, _, number = event.line.rpartition(":")
    outer = 'File "/src/net.py", line 1, in forward\n    return self.body(x)\n'
    return {
        "graph": EDGE_PROGRAM,
        "method": "forward",
        "scope": "",
        "node_index": handle,
        "node": f"node_{handle}",
        "op": "call_function",
        "target": "aten.softmax.int",
        "debug_handle": handle,
        "code": f"node_{handle}: float32[4, 8] = edge.ops.aten.softmax.int(x)",
        "stack_trace": f'{outer}  File "{file}", line {number}, in forward\n    return x',
        "module_path": event.modules[-1],
        "module_type": "Layer",
        "module_hierarchy": "{}",
    }
