"""Which events count for the time of a module: the rule, without double counting. Pure.

Kernels and delegates that run a node of the module count; an event that runs nodes of several
modules counts in full for each. Framework events around kernels (OPERATOR_CALL, Method::step)
never count. Of the call of a delegate and the events inside it never both count: the call, if all
its nodes are in the module; else the events inside it that run nodes of the module, if the ETRecord
can tell the nodes of any; else the call, if some of its nodes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple, Protocol, TypeVar

from warehouse.correlation import Handles, Hierarchy

IsInside = Callable[[Hierarchy | None], bool]


class Traced(Protocol):
    """An event whose nodes are known, as far as the rule looks at it."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def instruction_id(self) -> int | None:
        """Its instruction."""

    @property
    def debug_handles(self) -> Handles | None:
        """Its debug handle or handles; None without."""

    @property
    def module_hierarchy(self) -> Mapping[str, Hierarchy | None]:
        """By node, path and class of each module it is in, from the outermost."""


class EventModule(NamedTuple):
    """A module for whose time an event counts.

    Attributes:
        module_path: Path of the module; "" is the whole program.
        module_type: Its class; None if it is only the path that others lie in, as a list is.
        is_total: Whether the event counts for the module with all inside it.
        is_own: Whether it counts for the module's own nodes alone.
    """

    module_path: str
    module_type: str | None
    is_total: bool
    is_own: bool


Event = TypeVar("Event", bound=Traced)


def groups_of_instruction(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Events among which the rule chooses: a kernel, or the call of a delegate and those inside."""
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
    """Those of a group of `groups_of_instruction` that count."""
    inner = [event for event in events if event.kind == "delegate_op"]
    calls = [event for event in events if event.kind != "delegate_op"]
    is_mapped = any(event.debug_handles is not None for event in inner)
    nodes = [node for call in calls for node in call.module_hierarchy.values()]
    counted = inner if is_mapped and not (nodes and all(map(is_inside, nodes))) else calls or inner
    return [event for event in counted if any(map(is_inside, event.module_hierarchy.values()))]


def modules_of_events(events: Sequence[Event]) -> Iterator[tuple[Event, EventModule]]:
    """The modules for whose time events count; modules of events that go together by path."""
    nodes = _Nodes(events)
    for group in groups_of_instruction(events):
        for path in sorted({path for event in group for path in nodes.modules_of(event)}):
            total = set(map(id, counted_of_group(group, nodes.within(path))))
            own = set(map(id, counted_of_group(group, nodes.just_in(path))))
            for event in group:
                counts = id(event) in total, id(event) in own
                if any(counts):
                    yield event, EventModule(path, nodes.types.get(path), *counts)


def modules_above(path: str) -> list[str]:
    """The modules that a module lies in, the whole program and itself included.

    >>> modules_above("layers.0.attn")
    ['', 'layers', 'layers.0', 'layers.0.attn']
    """
    inner = accumulate(path.split("."), "{}.{}".format) if path else ()
    return ["", *inner]


class _Nodes:
    """Where the nodes of events lie, worked out once for each; `types` are the modules' classes."""

    def __init__(self, events: Iterable[Traced]) -> None:
        nodes = {id(node): node for e in events for node in e.module_hierarchy.values()}
        lists = {key: list((node or {}).values()) for key, node in nodes.items()}
        self.types = {path: name for known in lists.values() for path, name in filter(None, known)}
        self._innermost = {key: known[-1][:1] for key, known in lists.items() if known}
        self._modules = {
            key: frozenset(m for path, _ in filter(None, known) for m in modules_above(path))
            for key, known in lists.items()
        }

    def modules_of(self, event: Traced) -> Iterator[str]:
        """Paths of the modules that an event's nodes lie in."""
        for node in event.module_hierarchy.values():
            yield from self._modules[id(node)]

    def within(self, path: str) -> IsInside:
        """Whether a node lies in a module or in one inside it."""
        return lambda node: path in self._modules[id(node)]

    def just_in(self, path: str) -> IsInside:
        """Whether a module is the innermost that a node lies in."""
        return lambda node: self._innermost.get(id(node)) == [path]


def _instruction(event: Traced) -> int:
    return -1 if event.instruction_id is None else event.instruction_id
