"""Which debug handles the outputs of a delegate are the results of. Pure.

An ETRecord lists the handles of all nodes that a delegate took over, in order. The last of them is
that of its last output. The others the Inspector guesses from the end of the list; here they are
those whose nodes are used outside the delegate, as the graph of the edge dialect program tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from queries.numeric_gap.program_flow import ProgramFlow, program_flow, read_nodes, read_outputs

if TYPE_CHECKING:
    from ingest.etrecord.record import EtRecord

_Result = tuple[int, int | None]  # position of its handle in the delegate, and the handle


class DelegateResults:
    """The delegates of one method of an ETRecord."""

    def __init__(self, record: EtRecord, method: str) -> None:
        """Read the method's graph; a graph that cannot be read raises EtRecordError."""
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
        """How the debug handles of the method depend on each other."""
        return program_flow(self._nodes)

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
