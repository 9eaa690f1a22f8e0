"""The dependencies between a program's debug handles, from its edge dialect graph. Pure.

A handle represents all nodes that have it; its value is that of the last of them. A program with
more than MAX_LINKS links between nodes and handles gets no dependencies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tracehouse.ingest.allowance import Allowance, AllowanceError

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.graphs import Graph

MAX_LINKS = 2_000_000

_MOST_LEVELS = 8  # of nested lists and objects in an argument

# Operators that keep elements and their order; memory planning can remove them.
_VIEWS = frozenset(
    {
        "view", "view_copy", "_unsafe_view", "unsqueeze", "unsqueeze_copy", "squeeze",
        "squeeze_copy", "alias", "alias_copy", "clone", "_clone_dim_order",
    }
)  # fmt: skip


class FlowNode(NamedTuple):
    """A call in a graph: its operator, debug handles, and names of its arguments and results."""

    operator: str
    handles: tuple[int, ...]
    takes: frozenset[str]
    gives: list[str]

    @property
    def handle(self) -> int | None:
        """The first debug handle; None without one."""
        return next(iter(self.handles), None)


class ProgramFlow(NamedTuple):
    """The dependencies between the debug handles of a program.

    Attributes:
        inputs: For each handle, the handles whose values its nodes use.
        views: For each handle that only reshapes another's value, that other handle.
    """

    inputs: Mapping[int, frozenset[int]]
    views: Mapping[int, int]


def read_nodes(graph: Graph) -> list[FlowNode]:
    """The calls of a graph, in order of execution."""
    calls = [node for node in graph.nodes if node.op == "call_function"]
    return [
        FlowNode(_operator(node.target), tuple(node.debug_handles), *_names_in_call(call))
        for node, call in zip(calls, graph.serialized["nodes"], strict=True)
    ]


def read_outputs(graph: Graph) -> frozenset[str]:
    """Names of the outputs of a graph."""
    return frozenset(_names(graph.serialized["outputs"]))


def program_flow(nodes: Sequence[FlowNode]) -> ProgramFlow:
    """The dependencies between the handles of these nodes, also through nodes without handles."""
    links = Allowance(MAX_LINKS, "links")
    try:
        inputs = _inputs(nodes, links)
    except AllowanceError:
        return ProgramFlow({}, {})
    return ProgramFlow(
        {handle: frozenset(taken) for handle, taken in inputs.items()}, _views(nodes, inputs)
    )


def _inputs(nodes: Sequence[FlowNode], links: Allowance) -> dict[int, set[int]]:
    """For each handle, the handles whose values its nodes use; too many raise AllowanceError."""
    behind: dict[str, frozenset[int]] = {}
    inputs: dict[int, set[int]] = defaultdict(set)
    for node in nodes:
        taken = frozenset[int]().union(*(behind.get(name, ()) for name in node.takes))
        links.take((len(node.takes) + len(taken)) * (len(node.handles) + 1))
        for name in node.gives:
            behind[name] = frozenset(node.handles[-1:]) or taken
        for handle in node.handles:
            inputs[handle] |= taken - {handle}
    return inputs


def _views(nodes: Sequence[FlowNode], inputs: Mapping[int, set[int]]) -> dict[int, int]:
    """Handles that have only view nodes, and the one earlier handle whose value they use."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    taken: dict[int, set[str]] = defaultdict(set)
    changing: set[int] = set()
    for position, node in enumerate(nodes):
        for handle in node.handles:
            first.setdefault(handle, position)
            last[handle] = position
            taken[handle] |= node.takes
        if node.operator not in _VIEWS or len(node.handles) > 1:
            changing.update(node.handles)
    alone = {handle: next(iter(of)) for handle, of in inputs.items() if len(of) == 1}
    return {
        handle: source
        for handle, source in alone.items()
        if handle not in changing and last[source] < first[handle]
        if len(gives := nodes[last[source]].gives) == 1 and taken[handle].issuperset(gives)
    }


def _operator(target: str) -> str:
    """The name without namespace and overload, e.g. view_copy for aten.view_copy.default."""
    return target.split(".")[-2] if target.count(".") > 1 else target


def _names_in_call(call: Mapping[str, Any]) -> tuple[frozenset[str], list[str]]:
    arguments = [item["arg"] for item in call["inputs"] if isinstance(item, dict) and "arg" in item]
    return frozenset(_names(arguments)), list(_names(call.get("outputs")))


def _names(value: object, levels: int = _MOST_LEVELS) -> Iterator[str]:
    """Names of the values in arguments or results."""
    match value:
        case {"name": str(name)} | {"as_name": str(name)}:
            yield name
        case dict() | list() if levels:
            for item in value.values() if isinstance(value, dict) else value:
                yield from _names(item, levels - 1)
