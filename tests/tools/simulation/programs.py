"""Lowered programs: the events of an iteration in order, and their times. Pure.

A program is read from a real dump and can be changed as code changes would: an operator gets
another speed, or moves into or out of a delegate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tracehouse.ingest.etdump.arena import Arena, Scope
from tracehouse.ingest.etdump.columns import ProfileEvents, Runs
from tracehouse.ingest.etdump.schema import read_headers, read_runs
from tracehouse.ingest.signatures import event_kind
from tracehouse.ingest.tracer.dump_builder import DumpBuilder
from tracehouse.ingest.tracer.event_tracer import InstructionPlace

LOAD_BLOCK, EXECUTE_BLOCK = "Default", "Execute"
WARM_UP = 5  # iterations that do not count for an operator's typical time

_DEPTHS = {
    "method": 0,
    "operator_call": 1,
    "delegate_call": 1,
    "kernel": 2,
    "delegate_op": 2,
    "delegate_phase": 2,
}
_LOAD_DEPTHS = {b"Program::load_method": 0, b"Method::init": 1}
_MAX_FIRST_RATIO = 20.0
_CALL_NS = 200.0  # of an operator call without its kernel


class OperatorKey(NamedTuple):
    """The key by which builds are compared; `ordinal` numbers operators of equal name and id."""

    event_name: str
    delegate_id: str | None
    ordinal: int


@dataclass(frozen=True)
class TemplateEvent:
    """A timed event: a method, a call, a kernel or an operator of a delegate.

    Attributes:
        name: Name of the event; None in a delegate.
        delegate_id: Delegate debug id; None outside of delegates.
        origin: Number of the event in the program, which an operator keeps when it moves.
        own_ns: Time without its parts, after warm-up.
        first_ratio: Time of the first iteration, relative to `own_ns`.
        parts: Consecutive events within it.
    """

    name: str | None
    delegate_id: str | None
    origin: int
    own_ns: float
    first_ratio: float
    parts: tuple[TemplateEvent, ...] = ()

    @property
    def label(self) -> str:
        """The displayed name."""
        return self.name or self.delegate_id or ""

    @property
    def total_ns(self) -> float:
        """Time including its parts."""
        return self.own_ns + sum(part.total_ns for part in self.parts)


class PlacedEvent(NamedTuple):
    """An event and its instruction (-1, 0 outside of instructions)."""

    event: TemplateEvent
    place: InstructionPlace


@dataclass(frozen=True)
class TemplateProgram:
    """A lowered model.

    Attributes:
        load: The event before the first iteration.
        execute: ``Method::execute``; its parts are the instructions, in order.
    """

    load: TemplateEvent
    execute: TemplateEvent

    def list_events(self) -> list[PlacedEvent]:
        """The events of an iteration, in the order of the runtime's log."""
        return list(_list_events(self.execute, InstructionPlace(), is_top=True))

    def list_load_events(self) -> list[PlacedEvent]:
        """The events of loading, in the order of the runtime's log."""
        return list(_list_events(self.load, InstructionPlace()))

    def key_operators(self) -> dict[OperatorKey, TemplateEvent]:
        """The events by which builds are compared; a kernel replaces its OPERATOR_CALL."""
        places: dict[tuple[str, str | None], list[InstructionPlace]] = {}
        keyed: dict[OperatorKey, TemplateEvent] = {}
        for event, place in self.list_events():
            if event.name != "OPERATOR_CALL":
                seen = places.setdefault((event.label, event.delegate_id), [])
                seen += [] if place in seen else [place]
                keyed[OperatorKey(event.label, event.delegate_id, len(seen))] = event
        return keyed

    def change_speed(self, origin: int, ratio: float) -> TemplateProgram:
        """The program whose operator `origin` takes `ratio` times as long."""
        calls = tuple(
            replace(
                call,
                parts=tuple(
                    replace(part, own_ns=part.own_ns * ratio) if part.origin == origin else part
                    for part in call.parts
                ),
            )
            for call in self.execute.parts
        )
        return self._with_calls(calls)

    def list_last_delegated(self) -> list[int]:
        """Origins of the operators that `move_out` can move."""
        return [call.parts[-1].origin for call in self.execute.parts if len(call.parts) > 1]

    def move_out(self, origin: int, ratio: float) -> TemplateProgram:
        """The program in which a delegate's last operator becomes a kernel after the delegate."""
        calls: list[TemplateEvent] = []
        for call in self.execute.parts:
            last = call.parts[-1]
            if last.origin != origin:
                calls.append(call)
                continue
            kernel = replace(
                last, name=_kernel_name(last.label), delegate_id=None, own_ns=last.own_ns * ratio
            )
            calls.append(replace(call, parts=call.parts[:-1]))
            calls.append(TemplateEvent("OPERATOR_CALL", None, origin, _CALL_NS, 1.0, (kernel,)))
        return self._with_calls(tuple(calls))

    def list_after_delegate(self) -> list[int]:
        """Origins of the kernels that `move_in` can move."""
        calls = self.execute.parts
        return [
            call.parts[-1].origin
            for before, call in pairwise(calls)
            if before.name == "DELEGATE_CALL" and call.name == "OPERATOR_CALL"
        ]

    def move_in(self, origin: int, ratio: float) -> TemplateProgram:
        """The program in which the kernel after a delegate becomes the delegate's last operator."""
        calls: list[TemplateEvent] = []
        for call in self.execute.parts:
            last = call.parts[-1]
            if last.origin != origin:
                calls.append(call)
                continue
            delegate = calls.pop()
            operator = replace(
                last,
                name=None,
                delegate_id=_delegate_id(last.label, delegate.parts),
                own_ns=last.own_ns * ratio,
            )
            calls.append(replace(delegate, parts=(*delegate.parts, operator)))
        return self._with_calls(tuple(calls))

    def scale(self, ratio: float) -> TemplateProgram:
        """The program with all times multiplied by `ratio`."""
        return TemplateProgram(_scale(self.load, ratio), _scale(self.execute, ratio))

    def write(self) -> bytes:
        """A dump of loading and one iteration; all times are 1."""
        builder = DumpBuilder()
        blocks = ((LOAD_BLOCK, self.list_load_events()), (EXECUTE_BLOCK, self.list_events()))
        for name, events in blocks:
            builder.begin_block(name, -1)
            for event, place in events:
                if event.delegate_id is None:
                    builder.add_profile(event.name, place, (1, 1))
                else:
                    builder.add_delegate_profile(event.delegate_id, place, (1, 1), b"")
            builder.end_block(has_events=True)
        return builder.finish()

    def _with_calls(self, calls: tuple[TemplateEvent, ...]) -> TemplateProgram:
        return replace(self, execute=replace(self.execute, parts=calls))


def read_program(dump: bytes) -> TemplateProgram:
    """The program of a real dump with a run that loads it, followed by equal iterations."""
    arena = Arena([dump])
    heads = read_headers(arena)
    runs = read_runs(Scope.of_dumps(arena, heads.run_dump), heads.run_word)
    counts = runs.profile_counts
    iterations = len(counts) - 1
    return TemplateProgram(
        _read_tree(runs, 0, 1, int(counts[0])),
        _read_tree(runs, int(counts[0]), iterations, int(counts[1])),
    )


def _read_tree(runs: Runs, first: int, run_count: int, event_count: int) -> TemplateEvent:
    """The outermost event of equal runs, which start at event `first`."""
    profiles = runs.profiles
    rows = slice(first, first + run_count * event_count)
    durations = (profiles.end[rows] - profiles.start[rows]).astype(np.float64)
    durations = durations.reshape(run_count, event_count)
    open_: list[tuple[int, int, TemplateEvent]] = []  # events whose parent is still to come
    for origin in range(event_count):
        name, delegate_id = _names(profiles, first + origin)
        depth = _depth(name, None if delegate_id is None else delegate_id.encode())
        inner = [entry for entry in open_ if entry[0] > depth]
        open_ = [entry for entry in open_ if entry[0] <= depth]
        own = durations[:, origin] - durations[:, [row for _, row, _ in inner]].sum(axis=1)
        own_ns, first_ratio = _typical(own)
        parts = tuple(event for _, _, event in inner)
        event = TemplateEvent(
            None if name is None else name.decode(), delegate_id, origin, own_ns, first_ratio, parts
        )
        open_.append((depth, origin, event))
    return open_[-1][2]


def _names(profiles: ProfileEvents, row: int) -> tuple[bytes | None, str | None]:
    name, delegate = profiles.name.codes[row], profiles.delegate_str.codes[row]
    return (
        profiles.name.values[name] if name >= 0 else None,
        profiles.delegate_str.values[delegate].decode() if delegate >= 0 else None,
    )


def _depth(name: bytes | None, delegate_id: bytes | None) -> int:
    depth = _LOAD_DEPTHS.get(name or b"")
    return _DEPTHS[event_kind(name or b"", delegate_id)] if depth is None else depth


def _typical(own: np.typing.NDArray[np.float64]) -> tuple[float, float]:
    """Time of an event after warm-up, and the relative time of the first iteration."""
    steady = own[WARM_UP:] if len(own) > WARM_UP else own
    own_ns = max(float(np.median(steady)) or float(steady.mean()), 0.0)
    first_ratio = own[0] / own_ns if own_ns else 1.0
    return own_ns, float(np.clip(first_ratio, 1.0, _MAX_FIRST_RATIO))


def _list_events(
    event: TemplateEvent, place: InstructionPlace, *, is_top: bool = False
) -> Iterator[PlacedEvent]:
    for number, part in enumerate(event.parts):
        yield from _list_events(part, InstructionPlace(0, number) if is_top else place)
    yield PlacedEvent(event, place)


def _scale(event: TemplateEvent, ratio: float) -> TemplateEvent:
    parts = tuple(_scale(part, ratio) for part in event.parts)
    return replace(event, own_ns=event.own_ns * ratio, parts=parts)


def _kernel_name(delegate_id: str) -> str:
    """``Softmax (NC, F32) #1`` as a kernel: ``native_call_softmax.out``."""
    words = re.split(r" [(#]", delegate_id)[0].lower()
    return f"native_call_{words.replace(' ', '_')}.out"


def _delegate_id(kernel_name: str, parts: tuple[TemplateEvent, ...]) -> str:
    """``native_call_mean.out`` as the next operator of its kind in a delegate: ``Mean #1``."""
    words = kernel_name.removeprefix("native_call_").partition(".")[0].strip("_")
    title = words.replace("_", " ").title()
    number = 1 + sum(part.label.startswith(f"{title} ") for part in parts)
    return f"{title} #{number}"
