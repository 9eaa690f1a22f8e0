"""Finds the debug handle of each output of a delegate. Pure.

An ETRecord lists the handles of all nodes that a delegate replaced, in order. The last handle is
that of the last output. The Inspector guesses the others from the end of the list; here they are
the handles whose nodes are used outside the delegate in the graph of the edge dialect program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tracehouse.queries.numeric_gap.program_flow import (
    ProgramFlow,
    program_flow,
    read_nodes,
    read_outputs,
)

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.record import EtRecord

_Result = tuple[int, int | None]  # position of its handle in the delegate, and the handle


class DelegateResults:
    """The delegates of one method of an ETRecord."""

    def __init__(self, record: EtRecord, method: str) -> None:
        graph = record.edge_graph(method)
        self._nodes = read_nodes(graph) if graph else []
        self._given = read_outputs(graph) if graph else frozenset()
        self._uses = Counter(
            handle
            for handles in record.debug_handles[method].values()
            for handle in ({handles} if isinstance(handles, int) else set(handles))
        )

    @cached_property
    def flow(self) -> ProgramFlow:
        """The dependencies between the debug handles of the method."""
        return program_flow(self._nodes)

    def of(self, handles: Sequence[int], output_count: int) -> list[int | None]:
        """The debug handle of each output; None where it is unknown."""
        results = self._results(handles) if output_count > 1 else []
        if len(results) == output_count:
            return [handle for _, handle in results]
        return [*[None] * (output_count - 1), *handles[-1:]][:output_count]

    def _results(self, handles: Sequence[int]) -> list[_Result]:
        """The results used outside; empty if nodes with the same handles also run outside."""
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
