"""The origins of events in one method of an ETRecord, each charged to the dump's allowance.

Each event gets all its handles and nodes, even if many events have the same ones. So each origin is
charged with about the bytes that it takes when written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tracehouse.ingest.allowance import Allowance
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.signatures import KERNEL, event_kind
from tracehouse.warehouse.programs.delegate_ids import HANDLE_BYTES, DelegateIds
from tracehouse.warehouse.programs.operator_names import (
    UnmatchedCounts,
    count_unmatched,
    operator_of_kernel,
    operator_of_target,
)
from tracehouse.warehouse.programs.origins import Handles, Origin, Place, as_list

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.graphs import Graph, GraphNode
    from tracehouse.ingest.etrecord.record import EtRecord

OWN_INSTRUCTION = (KERNEL, "delegate_call", "delegate_op")  # kinds with their own handle

_DELEGATED = ("delegate_call", "delegate_phase")  # and all events with a delegate id
_NO_OPERATOR = ("getitem", "alloc")  # nodes that select or allocate a tensor, and run no kernel
_ROW_BYTES = 64  # of an event, a node or a module, without its texts
_MOST_NAME = 100  # letters of an event's name in a note


class CorrelationCache:
    """Cached results for one dump; each use is charged."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.origins: dict[object, tuple[Origin, int]] = {}
        self.is_operator: dict[object, bool] = {}


class MethodOrigins:
    """One method of an ETRecord; results beyond the allowance raise AllowanceError."""

    def __init__(self, record: EtRecord, name: str, graph: str) -> None:
        self.name = name
        self._handles = record.debug_handles[name]
        self._delegates = record.delegates.get(name, {})
        self._ids = {id_: DelegateIds(d.handles) for id_, d in self._delegates.items()}
        self._has_delegate_map = name in record.delegates
        self._num_outputs = record.num_outputs.get(name, {})
        self._nodes: dict[int, list[GraphNode]] = {}
        self._faults: list[str] = []
        try:
            self._nodes = _nodes_by_handle(record.find_graph(graph, name))
        except EtRecordError as error:  # the handles are usable without the program
            self._faults.append(str(error))
        self._sizes: dict[int, int] = {}  # of nodes, by identity

    def origin(self, place: Place, cache: CorrelationCache) -> Origin:
        """The origin of an event."""
        is_delegated = _is_delegated(place)
        key = self.name, place.instruction_id, place.delegate_id, is_delegated
        if key in cache.origins:
            origin, size = cache.origins[key]
            cache.allowance.take(size)
            return origin
        before = cache.allowance.taken
        cache.allowance.take(_ROW_BYTES)
        origin = self._origin(place, is_delegated, cache.allowance)
        cache.origins[key] = origin, cache.allowance.taken - before
        return origin

    def _origin(self, place: Place, is_delegated: bool, allowance: Allowance) -> Origin:
        instruction = place.instruction_id
        if instruction is None or instruction not in self._handles:
            return Origin()
        delegate = self._delegates.get(instruction)
        handles: Handles | None = self._handles[instruction]
        if delegate and place.delegate_id is not None:
            handles = self._ids[instruction].find(place.delegate_id, allowance)
        nodes = self._nodes_of(handles, allowance)
        return Origin(
            handles,
            [node.target for node in nodes],
            {_shown(node): node.stack_trace for node in nodes},
            {_shown(node): node.module_hierarchy or None for node in nodes},
            delegate.name if delegate and is_delegated else None,
            self._num_outputs.get(instruction, 1),
        )

    def has_further_instructions(self, places: Sequence[Place]) -> bool:
        """Whether the method has instructions without any of the events."""
        return not self._handles.keys() <= {place.instruction_id for place in places}

    def contradictions(self, places: Sequence[Place], cache: CorrelationCache) -> list[Place]:
        """Events that contradict the method's program at their instruction."""
        cache.allowance.take(HANDLE_BYTES * len(places))
        return [place for place in places if self._contradicts(place, cache)]

    def unmatched(
        self, inner: Mapping[int, Sequence[int | str]], cache: CorrelationCache
    ) -> UnmatchedCounts:
        """Numbers of events inside delegates and delegated operators that do not match each other.

        UnmatchedCounts names are events that neither a delegate id nor a delegated operator
        explains; unmatched operators are delegated ones that explain no event. `inner` has the
        events' delegate ids by instruction.
        """
        counts = [self._unmatched(at, ids, cache.allowance) for at, ids in inner.items()]
        return UnmatchedCounts(*map(sum, zip(*counts, strict=True)))

    def _unmatched(
        self, instruction: int, ids: Sequence[int | str], allowance: Allowance
    ) -> UnmatchedCounts:
        known = self._ids.get(instruction)
        unknown = [str(id_) for id_ in ids if known is None or known.find(id_, allowance) is None]
        handles = as_list(self._handles.get(instruction))
        lists = [self._nodes.get(handle, []) for handle in dict.fromkeys(handles)]
        allowance.take(HANDLE_BYTES * (len(handles) + sum(map(len, lists))))
        allowance.take(_ROW_BYTES * len(unknown))
        nodes = {id(node): node for nodes in lists for node in nodes}
        unmatched = count_unmatched(
            unknown, [operator_of_target(node.target) for node in nodes.values()]
        )
        if known is None or not known.count:
            return unmatched
        return unmatched._replace(operators=max(known.count - (len(ids) - len(unknown)), 0))

    def notes(self, places: Sequence[Place], wrong: Sequence[Place]) -> list[str]:
        """Sentences about problems of the method; `wrong` are the events that contradict it."""
        notes = list(self._faults) if places else []
        if places and not self._handles:
            notes.append(f"method '{self.name}' of the ETRecord has no debug handles")
        elif is_majority(wrong, places):
            first = wrong[0].name or str(wrong[0].delegate_id)
            notes.append(
                f"method '{self.name}' of the ETRecord has other operators than this block for "
                f"{len(wrong):,} of {len(places):,} events, such as {first[:_MOST_NAME]}; "
                "is it of this program?"
            )
        return notes

    def _contradicts(self, place: Place, cache: CorrelationCache) -> bool:
        id_ = place.instruction_id
        if id_ not in self._handles:
            return True
        if self._has_delegate_map and (id_ in self._delegates) != _is_delegated(place):
            return True
        # The name of another kernel says nothing of its operator.
        is_named = place.kind == KERNEL and event_kind(place.name.encode(), None) == KERNEL
        return is_named and not self._runs(id_, place.name, cache)

    def _runs(self, instruction: int, kernel: str, cache: CorrelationCache) -> bool:
        """Whether an instruction's node has the kernel's operator; true if no node is known."""
        name = operator_of_kernel(kernel)
        key = self.name, instruction, name
        if key not in cache.is_operator:
            handles = as_list(self._handles[instruction])
            cache.allowance.take(HANDLE_BYTES * len(handles))
            known = [self._operators[handle] for handle in handles if handle in self._operators]
            cache.is_operator[key] = not known or any(name in names for names in known)
        return cache.is_operator[key]

    @cached_property
    def _operators(self) -> dict[int, set[str]]:
        return {
            handle: {operator_of_target(node.target) for node in nodes}
            for handle, nodes in self._nodes.items()
        }

    def _nodes_of(self, handles: Handles | None, allowance: Allowance) -> list[GraphNode]:
        listed = as_list(handles)
        allowance.take(HANDLE_BYTES * len(listed))
        lists = [self._nodes[h] for h in dict.fromkeys(listed) if h in self._nodes]
        allowance.take(HANDLE_BYTES * sum(map(len, lists)))
        nodes = list({id(node): node for nodes in lists for node in nodes}.values())
        allowance.take(sum(map(self._size, nodes)))
        return nodes

    def _size(self, node: GraphNode) -> int:
        if id(node) not in self._sizes:
            self._sizes[id(node)] = _node_bytes(node)
        return self._sizes[id(node)]


def _is_delegated(place: Place) -> bool:
    return place.delegate_id is not None or place.kind in _DELEGATED


def is_majority(wrong: Sequence[Place], places: Sequence[Place]) -> bool:
    """Whether more than half of the events are wrong."""
    return 2 * len(wrong) > len(places)


def _nodes_by_handle(graph: Graph | None) -> dict[int, list[GraphNode]]:
    index: dict[int, list[GraphNode]] = {}
    for node in graph.nodes if graph else ():
        if node.op == "call_function" and node.target.rpartition(".")[2] not in _NO_OPERATOR:
            for handle in dict.fromkeys(node.debug_handles):
                index.setdefault(handle, []).append(node)
    return index


def _shown(node: GraphNode) -> str:
    return f"{node.name}_"  # the Inspector's spelling


def _node_bytes(node: GraphNode) -> int:
    size = _ROW_BYTES + 2 * len(node.name) + len(node.target) + len(node.stack_trace or "")
    for key, known in node.module_hierarchy.items():
        path, type_ = known or ("", "")
        # A module also counts for its outer modules.
        size += len(key) + (path.count(".") + 2) * (_ROW_BYTES + len(path) + len(type_))
    return size
