"""Which events count for the time of a module: the rule, without double counting. Pure.

Kernels and delegates that run a node of the module count; an event that runs nodes of several
modules counts in full for each. Framework events around kernels (OPERATOR_CALL, Method::step)
never count. Of the call of a delegate and the events inside it never both count: the call, if all
its nodes are in the module; else the events inside it that run nodes of the module, if the ETRecord
can tell the nodes of any; else the call, if some of its nodes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
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
        module_type: Its class.
        is_total: Whether the event counts for the module with all inside it.
        is_own: Whether it counts for the module's own nodes alone.
    """

    module_path: str
    module_type: str
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


def modules_of_events(events: Sequence[Traced]) -> Iterator[tuple[int, EventModule]]:
    """For each event, by its position, the modules for whose time it counts."""
    position = {id(event): i for i, event in enumerate(events)}
    for group in groups_of_instruction(events):
        nodes = [node for event in group for node in event.module_hierarchy.values()]
        types = {path: name for node in nodes for path, name in _modules(node)}
        for path, name in sorted(types.items()):
            total = counted_of_group(group, partial(_is_within, path))
            own = counted_of_group(group, partial(_is_in_itself, path))
            for event in {id(event): event for event in (*total, *own)}.values():
                yield position[id(event)], EventModule(path, name, event in total, event in own)


def _modules(hierarchy: Hierarchy | None) -> list[tuple[str, str]]:
    """Path and class of each module that a node is in, from the outermost."""
    modules = [module for module in (hierarchy or {}).values() if module]
    return [(path, name[0] if name else "") for path, *name in modules]


def _is_within(path: str, hierarchy: Hierarchy | None) -> bool:
    return any(is_below(known, path) for known, _ in _modules(hierarchy))


def _is_in_itself(path: str, hierarchy: Hierarchy | None) -> bool:
    return [known for known, _ in _modules(hierarchy)][-1:] == [path]


def is_below(path: str, module: str) -> bool:
    """Whether a module's path is that of `module` or of one inside it; "" is the whole program."""
    return not module or path == module or path.startswith(f"{module}.")


def _instruction(event: Traced) -> int:
    return -1 if event.instruction_id is None else event.instruction_id
