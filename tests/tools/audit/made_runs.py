"""Runs made by hand: what a program would log, call by call, with a clock that only it moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.etdump_builder import build_etdump

Content = dict[str, Any]
OVERHEAD = 7  # ticks that an OPERATOR_CALL, a DELEGATE_CALL and a Method::execute take themselves


@dataclass
class Tape:
    """The events of one run, in the order in which they end.

    Attributes:
        now: Reading of the clock; it wraps at `wraps_at`.
        wraps_at: One more than the greatest reading.
    """

    now: int = 1_000
    wraps_at: int = 2**64
    events: list[Content] = field(default_factory=list)
    allocators: list[Content] = field(default_factory=list)

    def log(self, name: str | None, start: int, instruction: int, **fields: Any) -> None:
        """A profile event that ends now."""
        event: Content = {"start_time": start % self.wraps_at, "end_time": self.now % self.wraps_at}
        event |= {"instruction_id": instruction, "chain_index": fields.pop("chain", 0)}
        if name is not None:
            event["name"] = name
        self.events.append({"profile_event": event | fields})

    def kernel(self, name: str, ticks: int, instruction: int, *, chain: int = 0) -> None:
        """A kernel in its OPERATOR_CALL; native_call_ is for names with an overload alone."""
        called = self.now
        self.now += OVERHEAD
        start = self.now
        self.now += ticks
        prefix = "" if "::" in name or "." not in name else "native_call_"
        self.log(f"{prefix}{name}", start, instruction, chain=chain)
        self.log("OPERATOR_CALL", called, instruction, chain=chain)

    def delegate(self, steps: Iterable[tuple[Any, int]], ticks: int, instruction: int) -> None:
        """A delegate call, with operators of its own whose ticks are of a clock of their own.

        A step is an id, or a name and an id.
        """
        called, inner = self.now, 500
        self.now += ticks
        for step, own in steps:
            name, delegate_id = step if isinstance(step, tuple) else (None, step)
            which = "int" if isinstance(delegate_id, int) else "str"
            event = {"instruction_id": instruction, "chain_index": 0, f"delegate_debug_id_{which}":
                     delegate_id, "start_time": inner, "end_time": inner + own}  # fmt: skip
            event |= {"name": name} if name else {}
            self.events.append({"profile_event": event})
            inner += own
        self.log("DELEGATE_CALL", called, instruction)

    def allocate(self, allocator_id: int, size: int) -> None:
        """An allocation."""
        event = {"allocator_id": allocator_id, "allocation_size": size}
        self.events.append({"allocation_event": event})

    def value(self, value: int, instruction: int) -> None:
        """A logged integer."""
        entry = {"val": "Int", "int_value": {"int_val": value}}
        event = {"name": "", "instruction_id": instruction, "chain_index": 0}
        self.events.append({"debug_event": event | {"debug_entry": entry}})

    def run(self, name: str | None = "Execute", **fields: Any) -> Content:
        """What was logged, as a run."""
        content = {"events": self.events} | ({} if name is None else {"name": name})
        if self.allocators:
            content["allocators"] = self.allocators
        return content | fields


def load(ticks: int, method: str = "forward") -> Content:
    """The run in which a program loads a method."""
    tape = Tape(now=10)
    tape.now += ticks
    tape.log("Method::init", 10 + ticks // 4, 0, chain=-1)
    tape.now += OVERHEAD
    tape.log("Program::load_method", 10, 0, chain=-1)
    return tape.run("Default")


def execution(
    kernels: Sequence[tuple[str, int]],
    *,
    delegate: tuple[Sequence[tuple[Any, int]], int] | None = None,
    now: int = 1_000,
    wraps_at: int = 2**64,
    name: str | None = "Execute",
) -> Content:
    """A whole run: a delegate if there is one, then the kernels, in Method::execute."""
    tape = Tape(now, wraps_at)
    tape.now += OVERHEAD
    if delegate:
        tape.delegate(*delegate, 0)
    for instruction, (kernel, ticks) in enumerate(kernels, start=1 if delegate else 0):
        tape.kernel(kernel, ticks, instruction)
    tape.log("Method::execute", now, 0, chain=-1)
    return tape.run(name)


def dump_of(runs: Iterable[Content]) -> bytes:
    """A dump of these runs."""
    return build_etdump({"version": 0, "run_data": list(runs)})


def noise(*seeds: int, below: int = 101) -> int:
    """A number that looks random, always the same for the same seeds."""
    state = 12_345
    for seed in seeds:
        state = (state * 6_364_136_223_846_793_005 + seed * 2_654_435_761 + 1) % 2**64
        state ^= state >> 29
    return state % below
