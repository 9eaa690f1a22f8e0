"""Programs: the operators of a run signature in order of execution."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from tracehouse.warehouse.alignment.operator_names import family_of, plain_name

KERNEL, DELEGATED, CALL = "kernel", "delegate_op", "delegate_call"
_OPERATOR_CALL = "operator_call"
_INSIDE = frozenset({DELEGATED, "delegate_phase", "delegate_counter"})
_OUTSIDE = frozenset({"control", "other"})
_OF_RUNS = frozenset({"method", "load", _OPERATOR_CALL})


class Name(NamedTuple):
    """The name of an event in queries.

    Attributes:
        event_name: Its event name.
        delegate_id: Its delegate id, if any.
        ordinal: Number among the program's instructions with these two, from 1.
        kind: Kind of the event.
        op_type: Type of the operator, if it is one.
    """

    event_name: str
    delegate_id: str | None
    ordinal: int
    kind: str
    op_type: str | None


class Event(NamedTuple):
    """An event of a program.

    Attributes:
        id: Id of its event signature.
        instruction: Its instruction; None outside the program.
        logged_name: Its name in the file; its delegate id where it has none.
        module: Path of the module that it runs, if known.
        name: Its name in queries.
    """

    id: int
    instruction: int | None
    logged_name: str
    module: str | None
    name: Name

    @property
    def kind(self) -> str:
        """Kind of the event."""
        return self.name.kind


class Operator(NamedTuple):
    """What is aligned: a kernel, a delegate's operator, a delegate call, or another instruction.

    Attributes:
        kind: Kind of its event.
        name: Its name without numbers.
        family: Its family.
        module: Path of its module, if known.
        call: Index of the delegate call that it is inside, or -1.
    """

    kind: str
    name: str
    family: str
    module: str | None
    call: int


class Program:
    """The operators of a run signature, in order of execution; equal to one with equal operators.

    Attributes:
        events: The event of each operator.
        callers: The OPERATOR_CALL around each operator that is a kernel, else None.
        operators: The operators.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        """Read the events of a run signature, in its order; those of whole runs are left out."""
        calls = {each.instruction: each for each in events if each.kind == _OPERATOR_CALL}
        self.events: list[Event] = []
        self.callers: list[Event | None] = []
        for event in events:
            if event.kind == KERNEL:
                self._add(event, calls.pop(event.instruction, None))
            elif event.kind in _OUTSIDE and event.instruction is None:
                continue  # the program does not run it
            elif event.kind not in _OF_RUNS:
                self._add(event, None)
        for caller in calls.values():  # a kernel that logs nothing
            self._add(caller, None)
        at = {each.instruction: n for n, each in enumerate(self.events) if each.kind == CALL}
        self.operators = tuple(_operator(event, at) for event in self.events)

    def __eq__(self, other: object) -> bool:
        """Whether the operators are the same one by one."""
        return isinstance(other, Program) and self.operators == other.operators

    def __hash__(self) -> int:
        """Hash of the operators."""
        return hash(self.operators)

    def _add(self, event: Event, caller: Event | None) -> None:
        self.events.append(event)
        self.callers.append(caller)

    @cached_property
    def shape(self) -> tuple[tuple[str, str, int], ...]:
        """What two programs have in common whose operators are the same one by one."""
        return tuple((each.kind, each.name, each.call) for each in self.operators)

    @cached_property
    def contents(self) -> Mapping[int, tuple[str, ...]]:
        """The plain names inside each delegate call that logs operators, by its index."""
        inside: dict[int, list[str]] = defaultdict(list)
        for operator in self.operators:
            if operator.call >= 0:
                inside[operator.call].append(operator.name)
        return {call: tuple(sorted(names)) for call, names in inside.items()}


def _operator(event: Event, calls: Mapping[int | None, int]) -> Operator:
    name = plain_name(event.logged_name)
    call = calls.get(event.instruction, -1) if event.kind in _INSIDE else -1
    is_operator = event.kind in (KERNEL, DELEGATED)
    family = family_of(name, is_kernel=event.kind == KERNEL) if is_operator else name
    return Operator(event.kind, name, family, event.module, call)
