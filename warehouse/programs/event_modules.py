"""The rule that selects the events for the time of a module, without double counting. Pure.

Kernels and delegates that run a node of the module count; an event that runs nodes of several
modules counts in full for each. Framework events around kernels (OPERATOR_CALL, Method::step)
never count. The call of a delegate and the events inside it never both count:

1. the call counts if all its nodes are in the module;
2. otherwise, events inside the call that run nodes of the module count, if the ETRecord maps any;
3. otherwise, the call counts if some of its nodes are in the module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple, Protocol, TypeVar

from tracehouse.warehouse.programs.method_origins import Handles, Hierarchy

IsInside = Callable[[Hierarchy | None], bool]


class EventWithNodes(Protocol):
    """An event with its nodes, as needed by the rule."""

    @property
    def kind(self) -> str:
        """The kind."""

    @property
    def instruction_id(self) -> int | None:
        """The instruction."""

    @property
    def debug_handles(self) -> Handles | None:
        """The debug handle or handles; None if the event has none."""

    @property
    def module_hierarchy(self) -> Mapping[str, Hierarchy | None]:
        """By node, path and class of each module that contains it, from the outermost."""


class EventModule(NamedTuple):
    """A module for whose time an event counts.

    Attributes:
        module_path: Path of the module; "" is the whole program.
        module_type: Class of the module; None if it only contains other modules, like a list.
        is_total: Whether the event counts for the module and all modules inside it.
        is_own: Whether the event counts for the module's own nodes alone.
    """

    module_path: str
    module_type: str | None
    is_total: bool
    is_own: bool


Event = TypeVar("Event", bound=EventWithNodes)


def groups_of_instruction(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Groups for the rule: one kernel, or a delegate's call and its inner events."""
    delegated: list[Event] = []
    for event in events:
        if event.kind == "kernel":
            yield [event]
        elif event.kind in ("delegate_call", "delegate_op"):
            delegated.append(event)
    delegated.sort(key=_instruction)
    for _, group in groupby(delegated, key=_instruction):
        yield list(group)


def counted_of_group(events: Sequence[Event], is_inside: IsInside) -> list[Event]:
    """The events of a group of `groups_of_instruction` that count."""
    inner = [event for event in events if event.kind == "delegate_op"]
    calls = [event for event in events if event.kind != "delegate_op"]
    is_mapped = any(event.debug_handles is not None for event in inner)
    nodes = [node for call in calls for node in call.module_hierarchy.values()]
    counted = inner if is_mapped and not (nodes and all(map(is_inside, nodes))) else calls or inner
    return [event for event in counted if any(map(is_inside, event.module_hierarchy.values()))]


def modules_of_events(events: Sequence[Event]) -> Iterator[tuple[Event, EventModule]]:
    """The modules for whose time each event counts, group by group, in order of paths."""
    nodes = _Nodes(events)
    for group in groups_of_instruction(events):
        total = _counted_by_path(group, nodes.modules)
        own = _counted_by_path(group, nodes.innermost)
        order = {id(event): position for position, event in enumerate(group)}
        for path in sorted(total.keys() | own.keys()):
            counts = [{order[id(event)] for event in of.get(path, ())} for of in (total, own)]
            for position in sorted(counts[0] | counts[1]):
                is_total, is_own = (position in some for some in counts)
                module = EventModule(path, nodes.types.get(path), is_total, is_own)
                yield group[position], module


def modules_above(path: str) -> list[str]:
    """The modules that contain a module, with the whole program and itself.

    >>> modules_above("layers.0.attn")
    ['', 'layers', 'layers.0', 'layers.0.attn']
    """
    inner = accumulate(path.split("."), "{}.{}".format) if path else ()
    return ["", *inner]


def _counted_by_path(
    events: Sequence[Event], paths: Mapping[int, Collection[str]]
) -> dict[str, list[Event]]:
    """The result of `counted_of_group` for each path, in one pass; `paths` are those of nodes."""
    inner = [event for event in events if event.kind == "delegate_op"]
    calls = [event for event in events if event.kind != "delegate_op"]
    is_mapped = any(event.debug_handles is not None for event in inner)
    nodes = [node for call in calls for node in call.module_hierarchy.values()]
    insides = Counter(path for node in nodes for path in paths[id(node)])
    of_calls, of_inner = _by_path(calls, paths), _by_path(inner, paths)
    if not is_mapped:
        return of_calls if calls else of_inner
    whole = {path: of_calls[path] for path, count in insides.items() if count == len(nodes)}
    return of_inner | whole


def _by_path(
    events: Iterable[Event], paths: Mapping[int, Collection[str]]
) -> dict[str, list[Event]]:
    """The events with a node in each path, in order."""
    found: dict[str, list[Event]] = {}
    for event in events:
        nodes = event.module_hierarchy.values()
        for path in {path for node in nodes for path in paths[id(node)]}:
            found.setdefault(path, []).append(event)
    return found


class _Nodes:
    """The modules of the nodes of events, computed once per node.

    Attributes:
        types: The modules' classes by path.
        modules: Paths of the modules that contain a node, by the node's identity.
        innermost: Path of the innermost module, by the node's identity.
    """

    def __init__(self, events: Iterable[EventWithNodes]) -> None:
        nodes = {id(node): node for e in events for node in e.module_hierarchy.values()}
        lists = {key: list((node or {}).values()) for key, node in nodes.items()}
        self.types = {path: name for known in lists.values() for path, name in filter(None, known)}
        self.innermost = {key: known[-1][:1] if known else [] for key, known in lists.items()}
        self.modules = {
            key: frozenset(m for path, _ in filter(None, known) for m in modules_above(path))
            for key, known in lists.items()
        }


def _instruction(event: EventWithNodes) -> int:
    return -1 if event.instruction_id is None else event.instruction_id
