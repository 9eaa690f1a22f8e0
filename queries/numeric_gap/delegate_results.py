"""Which debug handles the outputs of a delegate are the results of. Pure.

An ETRecord lists the handles of all nodes that a delegate took over, in order. The last of them is
that of its last output. The others the Inspector guesses from the end of the list; here they are
those whose nodes are used outside the delegate, as the graph of the edge dialect program tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ingest.etrecord.record import EtRecord

_MOST_LEVELS = 8  # of lists and objects in an argument

_Result = tuple[int, int | None]  # position of its handle in the delegate, and the handle


class _Node(NamedTuple):
    handle: int | None
    takes: frozenset[str]
    gives: list[str]


class DelegateResults:
    """The delegates of one method of an ETRecord."""

    def __init__(self, record: EtRecord, method: str) -> None:
        """Read the method's graph; a graph that cannot be read raises EtRecordError."""
        graph = record.edge_graph(method)
        calls = [node for node in graph.nodes if node.op == "call_function"] if graph else []
        written = graph.serialized["nodes"] if graph else []
        self._nodes = [
            _Node(next(iter(node.debug_handles), None), *_names_in_call(call))
            for node, call in zip(calls, written, strict=True)
        ]
        self._given = frozenset(_names(graph.serialized["outputs"])) if graph else frozenset()
        self._uses = Counter(
            handle
            for handles in record.debug_handles[method].values()
            for handle in ({handles} if isinstance(handles, int) else set(handles))
        )

    def of(self, handles: Sequence[int], output_count: int) -> list[int | None]:
        """The debug handle of each output; None where it cannot be told.

        Args:
            handles: Debug handles of the delegate, in order.
            output_count: How many outputs it has.
        """
        results = self._results(handles) if output_count > 1 else []
        if len(results) == output_count:
            return [handle for _, handle in results]
        return [*[None] * (output_count - 1), *handles[-1:]][:output_count]

    def _results(self, handles: Sequence[int]) -> list[_Result]:
        """The results used outside; none if nodes with the same handles run outside as well."""
        if any(self._uses[handle] > 1 for handle in handles):
            return []
        position = {handle: index for index, handle in enumerate(handles)}
        inside = [node for node in self._nodes if node.handle in position]
        last = {node.handle: node for node in inside}
        outside = [node.takes for node in self._nodes if node.handle not in position]
        used = self._given.union(*outside)
        return sorted(
            (
                (position[node.handle], node.handle if node is last[node.handle] else None)
                for node in inside
                for name in node.gives
                if name in used and node.handle is not None
            ),
            key=lambda result: result[0],
        )


def _names_in_call(call: Mapping[str, Any]) -> tuple[frozenset[str], list[str]]:
    arguments = [item["arg"] for item in call["inputs"] if isinstance(item, dict) and "arg" in item]
    return frozenset(_names(arguments)), list(_names(call.get("outputs")))


def _names(value: object, levels: int = _MOST_LEVELS) -> Iterator[str]:
    """Names of the values that arguments or results consist of."""
    match value:
        case {"name": str(name)} | {"as_name": str(name)}:
            yield name
        case dict() | list() if levels:
            for item in value.values() if isinstance(value, dict) else value:
                yield from _names(item, levels - 1)
