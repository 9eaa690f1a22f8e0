"""The origins of events in one method of an ETRecord, each charged to the dump's allowance.

Each event gets all its handles and nodes, even if many events have the same ones. So each origin is
charged with about the bytes that it takes when written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tracehouse.ingest.allowance import Allowance
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.signatures import KERNEL, event_kind
from tracehouse.warehouse.programs.operator_names import (
    UnmatchedCounts,
    count_unmatched,
    operator_of_kernel,
    operator_of_target,
)

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.graphs import Graph, GraphNode
    from tracehouse.ingest.etrecord.record import EtRecord


HANDLE_BYTES = 8

_WORD = re.compile(r"\w+|\W")
_LETTER = re.compile(r"\w")
_NODE = re.compile(r'\{.*?"delegate_node_id": *([^,} ]+)', re.DOTALL)

_OUTSIDE_KINDS = ("method", "load")  # these have instruction 0, although outside the program
Handles = int | list[int]
Hierarchy = dict[str, list[str]]
OWN_INSTRUCTION = (KERNEL, "delegate_call", "delegate_op")  # kinds with their own handle
_DELEGATED = ("delegate_call", "delegate_phase")  # and all events with a delegate id
_NO_OPERATOR = ("getitem", "alloc")  # nodes that select or allocate a tensor, and run no kernel
_ROW_BYTES = 64  # an event, a node or a module, without its texts
_MOST_NAME = 100  # letters of an event's name in a note


class DelegateIds:
    """Debug handles by delegate id, of one delegate."""

    def __init__(self, handles: Mapping[str, Handles]) -> None:
        self._handles = handles

    @property
    def count(self) -> int:
        """Number of ids."""
        return len(self._handles)

    def find(self, id_: int | str, allowance: Allowance) -> Handles | None:
        """The handles of an id: its own, or otherwise those of all known ids that are words in it.

        An id that is JSON with a node, like Vulkan's ids, has the node's handles. The work is
        charged; more than the allowance raises AllowanceError.
        """
        text = str(id_)
        node = _NODE.match(text)
        if node:
            return self._handles.get(node[1])
        if not self._handles or text in self._handles or isinstance(id_, int):
            return self._handles.get(text)
        words = self._words.find(text, allowance)
        if len(words) == 1:
            return self._handles[words[0]]
        lists = [as_list(self._handles[word]) for word in words]
        allowance.take(HANDLE_BYTES * sum(map(len, lists)))
        return [handle for handles in lists for handle in handles] or None

    @cached_property
    def _words(self) -> WordIndex:
        return WordIndex(self._handles)


class WordIndex:
    """Keys to find in texts as whole words.

    >>> WordIndex(["relu1", "relu12", "fused", "use"]).find("relu12 (fused)", Allowance(999, ""))
    ['relu12', 'fused']
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = {key for key in keys if key}
        lengths: dict[str, set[int]] = {}
        for key in self._keys:
            lengths.setdefault(_first_word(key), set()).add(len(key))
        self._lengths = {word: sorted(some, reverse=True) for word, some in lengths.items()}

    def find(self, text: str, allowance: Allowance) -> list[str]:
        """The keys that are whole words in a text, each once; the longest at each place.

        Compared letters are charged; more than the allowance raises AllowanceError.
        """
        found: dict[str, None] = {}
        end = 0
        for word in _WORD.finditer(text):
            start, lengths = word.start(), self._lengths.get(word[0])
            if start < end or not lengths or self._is_inside(text, start):
                continue
            allowance.take(sum(lengths))
            key = next(filter(None, (self._match(text, start, n) for n in lengths)), None)
            if key:
                found[key] = None
                end = start + len(key)
        return list(found)

    def _match(self, text: str, start: int, length: int) -> str | None:
        end = start + length
        key = text[start:end]
        is_whole = len(key) == length and key in self._keys and not _LETTER.match(text, end)
        return key if is_whole else None

    def _is_inside(self, text: str, start: int) -> bool:
        """Whether a letter precedes the match, which then is not a whole word."""
        return start > 0 and _LETTER.match(text, start - 1) is not None


def _first_word(key: str) -> str:
    match = _WORD.match(key)
    return match[0] if match else ""


class Place(NamedTuple):
    """The place of an event according to the dump.

    Attributes:
        name: Name of the profile event; "" without one.
        kind: The kind.
        instruction_id: Instruction; None outside the program's instructions.
        delegate_id: Delegate id; None outside delegates.
    """

    name: str
    kind: str
    instruction_id: int | None
    delegate_id: int | str | None


class Origin(NamedTuple):
    """The origin of one event according to an ETRecord, under the Inspector's names.

    Attributes:
        debug_handles: Handle or handles, as in the ETRecord; None if the event has none.
        op_types: Operator of each node with one of these handles; each node counts once.
        stack_traces: Stack trace by node; None where the node has none.
        module_hierarchy: By node, path and class of each module that contains it, from the
            outermost.
        delegate_backend_name: Backend; None outside delegates.
        num_outputs: Outputs of the instruction.
    """

    debug_handles: Handles | None = None
    op_types: Sequence[str] = ()
    stack_traces: Mapping[str, str | None] = {}
    module_hierarchy: Mapping[str, Hierarchy | None] = {}
    delegate_backend_name: str | None = None
    num_outputs: int = 1


def is_in_program(kind: str, instruction_id: int | None, *, is_on_chain: bool) -> bool:
    """Whether an event belongs to the program.

    The runtime logs events outside the program with instruction 0, too, but without a chain.
    """
    return kind not in _OUTSIDE_KINDS and (instruction_id != 0 or is_on_chain)


def as_list(handles: Handles | None) -> list[int]:
    """Several handles, one, or none as a list."""
    if handles is None:
        return []
    return [handles] if isinstance(handles, int) else handles


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
        self._sizes: dict[int, int] = {}  # sizes of nodes, by identity

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
