"""An ETRecord -> the JSON of `tracehouse etrecord show`. Pure."""

from __future__ import annotations

from dataclasses import asdict

from tracehouse.ingest.etrecord.graphs import Graph, code_lines
from tracehouse.ingest.etrecord.record import EtRecord


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
