"""What an ETRecord tells of the events of one of its methods, each charged to the dump's allowance.

An event is told with all its handles and nodes, however many events have the same: what is told is
charged as it is written out, in about as many bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ingest.allowance import Allowance
from ingest.errors import EtRecordError
from warehouse.programs.delegate_ids import HANDLE_BYTES, DelegateIds
from warehouse.programs.origins import Handles, Origin, Place, as_list
from warehouse.programs.spoken_operators import Unmatched, count_unmatched

if TYPE_CHECKING:
    from ingest.etrecord.graphs import Graph, GraphNode
    from ingest.etrecord.record import EtRecord

OWN_INSTRUCTION = ("kernel", "delegate_call", "delegate_op")  # kinds with a handle of their own

_KERNEL_PREFIX = "native_call_"
_DELEGATED = ("delegate_call", "delegate_phase")  # and all that has a delegate id
_NO_OPERATOR = ("getitem", "alloc")  # they pick or make a tensor, and run no kernel
_ROW_BYTES = 64  # of an event, a node or a module, besides its texts
_MOST_NAME = 100  # letters of a dump's name that a note repeats


class Told:
    """What one dump was told: each answer worked out once, and charged each time."""

    def __init__(self, allowance: Allowance) -> None:
        """Nothing was told yet."""
        self.allowance = allowance
        self.origins: dict[object, tuple[Origin, int]] = {}
        self.is_operator: dict[object, bool] = {}


class MethodOrigins:
    """What an ETRecord knows of one method; more than may be told raises AllowanceError."""

    def __init__(self, record: EtRecord, name: str, graph: str) -> None:
        """Index the method's program; one that cannot be read is noted."""
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
        except EtRecordError as error:  # the handles are known all the same
            self._faults.append(str(error))
        self._sizes: dict[int, int] = {}  # of nodes, by identity

    def origin(self, place: Place, told: Told) -> Origin:
        """What is known of an event."""
        is_delegated = _is_delegated(place)
        key = self.name, place.instruction_id, place.delegate_id, is_delegated
        if key in told.origins:
            origin, size = told.origins[key]
            told.allowance.take(size)
            return origin
        before = told.allowance.taken
        told.allowance.take(_ROW_BYTES)
        origin = self._origin(place, is_delegated, told.allowance)
        told.origins[key] = origin, told.allowance.taken - before
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

    def has_more_than(self, places: Sequence[Place]) -> bool:
        """Whether the method has instructions that none of the events is of."""
        return not self._handles.keys() <= {place.instruction_id for place in places}

    def contradictions(self, places: Sequence[Place], told: Told) -> list[Place]:
        """Events that are not what the method has at their instruction."""
        told.allowance.take(HANDLE_BYTES * len(places))
        return [place for place in places if self._contradicts(place, told)]

    def unmatched(self, inner: Mapping[int, Sequence[int | str]], told: Told) -> Unmatched:
        """How the events inside delegates differ from what the method delegates.

        These are the events that neither their ids nor the operators delegated explain, and what
        is delegated but none of them explains. `inner` has their delegate ids by instruction.
        """
        counts = [self._unmatched(at, ids, told.allowance) for at, ids in inner.items()]
        return Unmatched(*map(sum, zip(*counts, strict=True)))

    def _unmatched(
        self, instruction: int, ids: Sequence[int | str], allowance: Allowance
    ) -> Unmatched:
        known = self._ids.get(instruction)
        unknown = [str(id_) for id_ in ids if known is None or known.find(id_, allowance) is None]
        handles = as_list(self._handles.get(instruction))
        lists = [self._nodes.get(handle, []) for handle in dict.fromkeys(handles)]
        allowance.take(HANDLE_BYTES * (len(handles) + sum(map(len, lists))))
        allowance.take(_ROW_BYTES * len(unknown))
        nodes = {id(node): node for nodes in lists for node in nodes}
        spoken = count_unmatched(unknown, [_operator(node.target) for node in nodes.values()])
        if known is None or not known.count:
            return spoken
        return spoken._replace(operators=max(known.count - (len(ids) - len(unknown)), 0))

    def notes(self, places: Sequence[Place], wrong: Sequence[Place]) -> list[str]:
        """Sentences on what the method lacks for these events, of which some are wrong."""
        notes = list(self._faults) if places else []
        if places and not self._handles:
            notes.append(f"method '{self.name}' of the ETRecord has no debug handles")
        elif is_most(wrong, places):
            first = wrong[0].name or str(wrong[0].delegate_id)
            notes.append(
                f"method '{self.name}' of the ETRecord has other operators than this block for "
                f"{len(wrong):,} of {len(places):,} events, such as {first[:_MOST_NAME]}; "
                "is it of this program?"
            )
        return notes

    def _contradicts(self, place: Place, told: Told) -> bool:
        id_ = place.instruction_id
        if id_ not in self._handles:
            return True
        if self._has_delegate_map and (id_ in self._delegates) != _is_delegated(place):
            return True
        return place.kind == "kernel" and not self._runs(id_, place.name, told)

    def _runs(self, instruction: int, kernel: str, told: Told) -> bool:
        """Whether a kernel is of a node's operator; yes if no node is known."""
        name = _operator(kernel.removeprefix(_KERNEL_PREFIX))
        key = self.name, instruction, name
        if key not in told.is_operator:
            handles = as_list(self._handles[instruction])
            told.allowance.take(HANDLE_BYTES * len(handles))
            known = [self._operators[handle] for handle in handles if handle in self._operators]
            told.is_operator[key] = not known or any(name in names for names in known)
        return told.is_operator[key]

    @cached_property
    def _operators(self) -> dict[int, set[str]]:
        return {
            handle: {_operator(node.target) for node in nodes}
            for handle, nodes in self._nodes.items()
        }

    def _nodes_of(self, handles: Handles | None, allowance: Allowance) -> list[GraphNode]:
        """Nodes with these handles, in the order of handles, each once."""
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


def is_most(wrong: Sequence[Place], places: Sequence[Place]) -> bool:
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
        # A module counts for those that it lies in, too.
        size += len(key) + (path.count(".") + 2) * (_ROW_BYTES + len(path) + len(type_))
    return size


def _operator(target: str) -> str:
    """Name of an operator without namespace and overload, and without the mark of in-place ones.

    >>> _operator("aten.index_put.default"), _operator("index_put_.out"), _operator("alloc")
    ('index_put', 'index_put', 'alloc')
    """
    name = target.rpartition(".")[0] or target
    return name.rpartition(".")[2].strip("_")
