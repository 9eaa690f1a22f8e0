"""Which nodes of the program an event ran: an ETRecord joined to the events of a dump. Pure.

Nothing in a dump names its program or method. Of several methods, a block is that which contradicts
it least: an instruction without debug handle, a kernel named after an operator that its node is
not, a delegate where there is none, or none where there is; and of those, for a run to the end, one
with no further instruction. Where that leaves several methods that would answer differently, none
is taken. A few contradictions are no surprise: not every instruction is of the exported graph.

A delegate's event is looked up by its id as text. An id that the delegate's map lacks, but that
contains keys of it as whole words ("relu0 (fused)" contains relu0), has the handles of those keys;
where two overlap, of the longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ingest.errors import EtRecordError
from warehouse.errors import QueryError, suggest

if TYPE_CHECKING:
    from ingest.etrecord import EtRecord
    from ingest.etrecord_graphs import Graph, GraphNode
    from ingest.etrecord_maps import DelegateMap

EDGE_GRAPH = "edge_dialect_exported_program"

Handles = int | list[int]
Hierarchy = dict[str, list[str]]

_KERNEL_PREFIX = "native_call_"
OUTSIDE_KINDS = ("method", "load")  # their instruction 0 is not the program's
_OWN_INSTRUCTION = ("kernel", "delegate_call", "delegate_op")  # kinds with a handle of their own
_DELEGATED = ("delegate_call", "delegate_op")
_NO_OPERATOR = ("getitem", "alloc")  # they pick or make a tensor, and run no kernel


class Place(NamedTuple):
    """Where a dump says that an event belongs.

    Attributes:
        name: Name of the profile event; "" without one.
        kind: Its kind.
        instruction_id: Instruction; None outside the program's instructions.
        delegate_id: Delegate id; None if it is not delegated.
    """

    name: str
    kind: str
    instruction_id: int | None
    delegate_id: int | str | None


class Origin(NamedTuple):
    """What an ETRecord tells of one event, under the Inspector's names.

    Attributes:
        debug_handles: Handle or handles, as in the ETRecord; None if it has none for the event.
        op_types: Operator of each node with one of these handles; each node counts once.
        stack_traces: Stack trace by node; None where the node has none.
        module_hierarchy: By node, path and class of each module it is in, from the outermost.
        delegate_backend_name: Backend; None outside delegates.
        num_outputs: Outputs of the instruction.
    """

    debug_handles: Handles | None = None
    op_types: Sequence[str] = ()
    stack_traces: Mapping[str, str | None] = {}
    module_hierarchy: Mapping[str, Hierarchy | None] = {}
    delegate_backend_name: str | None = None
    num_outputs: int = 1


@dataclass(frozen=True)
class BlockOrigin:
    """Where the events of one block come from.

    Attributes:
        method: Its method; None if that cannot be told.
        method_candidates: Methods it can be.
        origins: One per event.
        notes: What the dump and the ETRecord disagree on, as sentences.
    """

    method: str | None = None
    method_candidates: list[str] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Correlation:
    """An ETRecord, ready to be asked about the blocks of a dump."""

    def __init__(self, record: EtRecord, *, graph: str = EDGE_GRAPH) -> None:
        """Index the record.

        Args:
            record: The record.
            graph: Name of the graph that tells operators, stack traces and modules; a record
                without edge dialect program tells none.

        Raises:
            QueryError: if there is no graph of another name.
        """
        known = sorted({key.name for key in record.programs})
        if graph not in (EDGE_GRAPH, *known):
            raise QueryError(f"{record.source}: has no graph '{graph}'{suggest(graph, known)}")
        self._methods = [_Method(record, name, graph) for name in record.debug_handles]
        self.record = record

    def locate(self, places: Sequence[Place]) -> BlockOrigin:
        """Where the events of a block come from."""
        candidates = self._candidates(places)
        names = [method.name for method in candidates]
        if not candidates:
            nothing = [Origin() for _ in places]
            return BlockOrigin(
                origins=nothing, notes=["no method of the ETRecord is like this block"]
            )
        answers = [[method.origin(place) for place in places] for method in candidates]
        if any(answer != answers[0] for answer in answers):
            nothing = [Origin() for _ in places]
            note = f"these can be events of {' or '.join(names)}, which differ"
            return BlockOrigin(None, names, nothing, [note])
        method = candidates[0]
        name = method.name if len(candidates) == 1 else None
        return BlockOrigin(name, names, answers[0], method.notes(places))

    def _candidates(self, places: Sequence[Place]) -> list[_Method]:
        if len(self._methods) == 1:
            return self._methods
        methods = [method for method in self._methods if not method.is_contradicted(places)]
        methods = _least(methods, [len(method.contradictions(places)) for method in methods])
        if any(place.kind == "method" for place in places):
            methods = _least(methods, [method.has_more_than(places) for method in methods])
        return methods


class _Method:
    """What an ETRecord knows of one method."""

    def __init__(self, record: EtRecord, name: str, graph: str) -> None:
        self.name = name
        self._handles = record.debug_handles[name]
        self._delegates: Mapping[int, DelegateMap] = record.delegates.get(name, {})
        self._has_delegate_map = name in record.delegates
        self._num_outputs = record.num_outputs.get(name, {})
        self._nodes: dict[int, list[GraphNode]] = {}
        self._faults: list[str] = []
        try:
            self._nodes = _nodes_by_handle(record.find_graph(graph, name))
        except EtRecordError as error:  # the handles are known all the same
            self._faults.append(str(error))

    def origin(self, place: Place) -> Origin:
        instruction = place.instruction_id
        if instruction is None or instruction not in self._handles:
            return Origin()
        delegate = self._delegates.get(instruction)
        handles: Handles | None = self._handles[instruction]
        if delegate and place.delegate_id is not None:
            handles = _delegate_handles(delegate.handles, place.delegate_id)
        nodes = self._nodes_of(handles)
        return Origin(
            handles,
            [node.target for node in nodes],
            {_shown(node): node.stack_trace for node in nodes},
            {_shown(node): node.module_hierarchy or None for node in nodes},
            delegate.name if delegate and place.kind in _DELEGATED else None,
            self._num_outputs.get(instruction, 1),
        )

    def has_more_than(self, places: Sequence[Place]) -> bool:
        return not self._handles.keys() <= {place.instruction_id for place in places}

    def is_contradicted(self, places: Sequence[Place]) -> bool:
        """Whether more than half of the block's instructions are not the method's."""
        return 2 * len(self.contradictions(places)) > len(_instructions(places))

    def contradictions(self, places: Sequence[Place]) -> list[Place]:
        """Events that are not what the method has at their instruction."""
        return [place for place in _instructions(places) if self._contradicts(place)]

    def notes(self, places: Sequence[Place]) -> list[str]:
        instructions = _instructions(places)
        notes = list(self._faults) if instructions else []
        if instructions and not self._handles:
            notes.append(f"method '{self.name}' of the ETRecord has no debug handles")
        elif self.is_contradicted(places):
            names = [place.name or str(place.delegate_id) for place in self.contradictions(places)]
            notes.append(
                f"method '{self.name}' of the ETRecord has other operators than this block for "
                f"{len(names):,} of {len(instructions):,} events, such as {names[0]}; "
                "is it of this program?"
            )
        return notes

    def _contradicts(self, place: Place) -> bool:
        id_ = place.instruction_id
        if id_ not in self._handles:
            return True
        if self._has_delegate_map and (id_ in self._delegates) != (place.kind in _DELEGATED):
            return True
        known = {_operator(node.target) for node in self._nodes_of(self._handles[id_])}
        name = _operator(place.name.removeprefix(_KERNEL_PREFIX))
        return place.kind == "kernel" and bool(known) and name not in known

    def _nodes_of(self, handles: Handles | None) -> list[GraphNode]:
        """Nodes with these handles, in the order of handles, each once."""
        nodes = [node for handle in as_list(handles) for node in self._nodes.get(handle, ())]
        return list({id(node): node for node in nodes}.values())


def _least(methods: list[_Method], counts: Sequence[int]) -> list[_Method]:
    return [method for method, count in zip(methods, counts, strict=True) if count == min(counts)]


def _nodes_by_handle(graph: Graph | None) -> dict[int, list[GraphNode]]:
    index: dict[int, list[GraphNode]] = {}
    for node in graph.nodes if graph else ():
        if node.op == "call_function" and node.target.rpartition(".")[2] not in _NO_OPERATOR:
            for handle in node.debug_handles:
                index.setdefault(handle, []).append(node)
    return index


def _shown(node: GraphNode) -> str:
    return f"{node.name}_"  # the Inspector's spelling


def _instructions(places: Sequence[Place]) -> list[Place]:
    """Events that run an instruction, or a part of it."""
    return [
        place
        for place in places
        if place.kind in _OWN_INSTRUCTION and place.instruction_id is not None
    ]


def _delegate_handles(known: Mapping[str, Handles], id_: int | str) -> Handles | None:
    text = str(id_)
    if text in known or isinstance(id_, int):
        return known.get(text)
    keys = _words_in(text, known)
    if len(keys) == 1:
        return known[keys[0]]
    return [handle for key in keys for handle in as_list(known[key])] or None


def _words_in(text: str, keys: Iterable[str]) -> list[str]:
    """The keys that stand in a text as whole words, each once; the longest where several do.

    >>> _words_in("relu12 (fused)", ["relu1", "relu12", "fused", "use"])
    ['relu12', 'fused']
    """
    inside = sorted((key for key in keys if key and key in text), key=len, reverse=True)
    if not inside:
        return []
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, inside))})(?!\w)"
    return list(dict.fromkeys(re.findall(pattern, text)))


def as_list(handles: Handles | None) -> list[int]:
    """The handles, be they several, one or none."""
    if handles is None:
        return []
    return [handles] if isinstance(handles, int) else handles


def _operator(target: str) -> str:
    """Name of an operator without namespace and overload, and without the mark of in-place ones.

    >>> _operator("aten.index_put.default"), _operator("index_put_.out"), _operator("alloc")
    ('index_put', 'index_put', 'alloc')
    """
    name = target.rpartition(".")[0] or target
    return name.rpartition(".")[2].strip("_")
