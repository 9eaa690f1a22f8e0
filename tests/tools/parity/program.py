"""An ETRecord read plainly: its JSON members and the nodes of its graphs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.tools.parity.bugs import Bug
from tests.tools.parity.errors import InspectorError
from tracehouse.ingest.etrecord.torch_archive import read_torch_archive
from tracehouse.queries.event_blocks.table import value_json

Json = dict[str, Any]

_EDGE = "edge_dialect_exported_program"
_EXPORTED = "exported_program"
_REFERENCE = "reference_outputs"
_EDGE_OPERATOR = "executorch.exir.dialects.edge.ops."
_PARTS = ("_state_dict", "_constants", "_example_inputs")
_OUTPUTS = {"as_tensor", "as_sym_int", "as_sym_bool", "as_int", "as_none"}
_NO_OPERATOR = ("getitem", "alloc")


@dataclass(frozen=True)
class Node:
    """A node of a graph that runs an operator, under the names that the Inspector shows."""

    name: str
    operator: str
    debug_handle: int
    stack_trace: str | None
    module_hierarchy: dict[str, list[str]] | None


@dataclass
class Program:
    """What an ETRecord knows.

    Attributes:
        members: Its JSON members; None where it has none of that name.
        graphs: Its graphs as serialized, by their path in the zip.
        reference_outputs: By method, the outputs of each bundled input.
    """

    members: Mapping[str, Any]
    graphs: Mapping[str, Json]
    reference_outputs: Mapping[str, list[list[Any]]]

    @property
    def methods(self) -> list[str]:
        """Methods with debug handles."""
        return list(self.members["debug_handle_map"] or {})

    def of_method(self, member: str, method: str) -> Json:
        """A JSON member's part for a method."""
        found: Json = (self.members[member] or {}).get(method, {})
        return found

    @cached_property
    def nodes(self) -> dict[str, dict[int, list[Node]]]:
        """Nodes of each method's edge dialect graph by debug handle."""
        edge = {path: graph for path, graph in self.graphs.items() if path.startswith(_EDGE)}
        only = next(iter(edge.values())) if len(edge) == 1 else {"nodes": []}
        return {method: _by_handle(edge.get(f"{_EDGE}/{method}", only)) for method in self.methods}

    def require_loadable(self, bugs: frozenset[Bug]) -> None:
        """Load it as the Inspector does.

        Raises:
            InspectorError: if the Inspector would.
        """
        outputs = (output for graph in self.graphs.values() for output in graph["outputs"])
        if Bug.I21 in bugs and any(not _OUTPUTS & output.keys() for output in outputs):
            raise InspectorError(Bug.I21, "SerializeError", "Unable to deserialize output node")

    def require_forward(self, bugs: frozenset[Bug]) -> None:
        """Find the only method that the Inspector looks for, and the maps that it needs.

        A record whose saving raised has the parts alone that were written before.

        Raises:
            InspectorError: if it is not there, or not alone.
        """
        needed = ("debug_handle_map", "instruction_id_to_num_outs_map")
        if Bug.I21 in bugs and any(self.members[name] is None for name in needed):
            raise InspectorError(Bug.I21, "TypeError", "'NoneType' object is not subscriptable")
        if Bug.I15 in bugs and "forward" not in self.methods:
            raise InspectorError(Bug.I15, "KeyError", "forward")
        edge = [path for path in self.graphs if path.startswith(f"{_EDGE}/")]
        if Bug.I15 in bugs and len(edge) > 1:
            raise InspectorError(Bug.I15, "AttributeError", "graph_module")


def read_program(path: Path) -> Program:
    """The ETRecord at a path."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        graphs = [
            name
            for name in names
            if name in (_EDGE, _EXPORTED) or (name.startswith(f"{_EDGE}/") or "/" in name)
            if not name.endswith(_PARTS)
        ]
        maps = ("debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map")
        return Program(
            {name: json.loads(archive.read(name)) if name in names else None for name in maps},
            {name: json.loads(archive.read(name))["graph_module"]["graph"] for name in graphs},
            _reference_outputs(archive.read(_REFERENCE)) if _REFERENCE in names else {},
        )


def _reference_outputs(archive: bytes) -> dict[str, list[list[Any]]]:
    """The outputs as JSON; read with our own reader, for which the goldens vouch."""
    by_method: Any = read_torch_archive(archive, _REFERENCE)
    return {
        method: [[value_json(value) for value in case] for case in cases]
        for method, cases in by_method.items()
    }


def _by_handle(graph: Json) -> dict[int, list[Node]]:
    index: dict[int, list[Node]] = {}
    for node in filter(None, map(_node, graph["nodes"])):
        index.setdefault(node.debug_handle, []).append(node)
    return index


def _node(serialized: Json) -> Node | None:
    metadata, target = serialized["metadata"], serialized["target"]
    operator = _operator(target)
    if "debug_handle" not in metadata or operator in _NO_OPERATOR:
        return None
    return Node(
        f"{serialized['name']}_",
        operator,
        int(metadata["debug_handle"]),
        metadata.get("stack_trace"),
        _hierarchy(metadata.get("nn_module_stack")),
    )


def _operator(target: str) -> str:
    if target.startswith(_EDGE_OPERATOR):
        return target.removeprefix(_EDGE_OPERATOR)
    parts = target.removeprefix("#").split(".")
    return ".".join(parts[-2:]) if target.startswith("torch.ops.aten") else parts[-1]


def _hierarchy(stack: str | None) -> dict[str, list[str]] | None:
    if not stack:
        return None
    levels = (level.split(",", 2) for level in stack.split(";"))
    return {key: [path, type_] for key, path, type_ in levels}
