"""The program of an ETRecord that a numeric gap runs, with the debug handles of its nodes.

The choice is that of the Inspector, made with what ExecuTorch's objects promise: the programs of an
ETRecord, and the `meta` of torch's nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracehouse.ingest.etrecord.names import EDGE_PROGRAM, EXPORTED_PROGRAM
from tracehouse.queries.errors import WrongValueError
from tracehouse.warehouse.errors import suggest
from tracehouse.warehouse.programs.exported_programs import METHOD, name_programs

UNSET_HANDLE = 0  # of a node that no operator of the edge dialect comes from
_HANDLE, _FROM = "debug_handle", "from_node"  # keys of `meta`
_NO_STEPS = ("placeholder", "output")

Handles = tuple[int, ...]


def choose_program(record: Any, name: str, *, graph: str | None, is_validated: bool) -> Any:
    """The ExportedProgram of ExecuTorch's ETRecord object that a graph's name means.

    Args:
        record: The object; exported_program gets the debug handles of the edge dialect.
        name: Its name in messages.
        graph: exported_program, edge_dialect_exported_program or a name in the graph map; by
            default the first of them whose operators have debug handles.
        is_validated: Whether all debug handles must be in exported_program.

    Raises:
        WrongValueError: There is no such graph, or exported_program lacks debug handles.
    """
    programs = name_programs(record)
    if graph in (None, EXPORTED_PROGRAM):
        if _hand_back(programs, getattr(record, "export_graph_id", None), is_validated):
            return programs[EXPORTED_PROGRAM]
        if graph is not None:
            raise WrongValueError(
                f"{name}: {EXPORTED_PROGRAM} is absent, or some debug handles are not in it; "
                "disable the validation of debug handles, or choose another reference graph"
            )
        graph = EDGE_PROGRAM
    for key in (graph, f"{graph}/{METHOD}"):
        if key in programs:
            return programs[key]
    known = sorted(key.removesuffix(f"/{METHOD}") for key in programs)
    raise WrongValueError(f"{name}: no reference graph '{graph}'{suggest(graph, known)}")


def name_operators(module: Any) -> dict[Handles, list[str]]:
    """The names of a module's operators by debug handles."""
    names: dict[Handles, list[str]] = {}
    for node in module.graph.nodes:
        handles = handles_of(node)
        if handles is not None:
            names.setdefault(handles, []).append(node.name)
    return names


def handles_of(node: Any) -> Handles | None:
    """The debug handles of a node that calls an operator; None for other nodes."""
    handles = node.meta.get(_HANDLE)
    if handles is None or node.op != "call_function" or "getitem" in node.name:
        return None
    return (handles,) if isinstance(handles, int) else tuple(handles)


def _hand_back(programs: Mapping[str, Any], graph_id: object, is_validated: bool) -> bool:
    """Give the nodes of exported_program the debug handles of the edge dialect's.

    Returns:
        Whether they have them: not without one of the programs, nor, if that is validated, where
        nodes of the edge dialect come from no node of exported_program.
    """
    exported = programs.get(EXPORTED_PROGRAM)
    edge = programs.get(f"{EDGE_PROGRAM}/{METHOD}")
    if exported is None or edge is None:
        return False
    steps = [node for node in _steps(edge.graph_module) if node.meta.get(_HANDLE) is not None]
    by_ancestor: dict[str, Any] = {}
    for node in steps:
        for ancestor in _ancestors(node):
            if by_ancestor.setdefault(ancestor, node.meta[_HANDLE]) != node.meta[_HANDLE]:
                return False
    found = {
        node: _first_known([f"{node.name}.{graph_id}", *_ancestors(node)], by_ancestor)
        for node in _steps(exported.graph_module)
    }
    if is_validated and not {node.meta[_HANDLE] for node in steps} <= {*found.values()}:
        return False
    for node, handle in found.items():
        node.meta[_HANDLE] = UNSET_HANDLE if handle is None else handle
    return True


def _steps(graph_module: Any) -> Iterator[Any]:
    """The nodes of a program and of the graphs in it that compute something."""
    for module in graph_module.modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            if node.op not in _NO_STEPS:
                yield node


def _ancestors(node: Any) -> list[str]:
    """The nodes of earlier graphs that a node comes from, the latest first, with their graphs."""
    found, sources = [], node.meta.get(_FROM)
    while sources:
        found.append(f"{sources[-1].name}.{sources[-1].graph_id}")
        sources = sources[-1].from_node
    return found


def _first_known(ids: Iterable[str], handles: Mapping[str, Any]) -> Any:
    return next((handles[id_] for id_ in ids if id_ in handles), None)
