"""Dumps as the oracles see them: events out of raw bytes, facts out of a plain manifest.

The bytes are read by the slow reference reader; nothing of the readers, tables or queries that are
audited is used. Each rule here is written down a second time, from the documents.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.support.plain_signatures import EventSignature, RunSignature, group_run, text
from tests.support.reference_reader import read_reference
from tests.tools.audit.events import Event, duration, kind_of

NS_PER_UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
MANIFEST_FIELDS = {
    "device", "build", "model", "method", "captured_at", "clock", "run", "counters", "tags",
}  # fmt: skip
WARM_UP_RUNS = 5


@dataclass(frozen=True)
class Allocation:
    """One allocation: its place among all events of the run, its allocator's name, its size."""

    place: int
    allocator: str | None
    size: int


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a dump, with its events in file order."""

    index: int
    name: str | None
    signature: RunSignature | None
    events: tuple[Event, ...]
    allocations: tuple[Allocation, ...]
    values: tuple[Mapping[str, Any], ...]
    bundled_input_index: int

    @cached_property
    def is_complete(self) -> bool:
        """Whether it has a Method::execute and no event whose duration cannot be right."""
        return all(event.is_valid for event in self.events) and bool(self.of_kind("method"))

    def of_kind(self, *kinds: str) -> list[Event]:
        """Its events of these kinds."""
        return [event for event in self.events if event.kind in kinds]

    def ticks(self, *kinds: str) -> int:
        """Sum over its events of these kinds."""
        return sum(event.ticks or 0 for event in self.of_kind(*kinds))


@dataclass(frozen=True, eq=False)
class Recording:
    """A dump with what is known about it.

    Attributes:
        number: Its number, from 1 in order of arrival.
        data: Its bytes.
        manifest: What was stated of it in the end, as plain JSON.
        etrecord: The ETRecord that came with it, if one did.
    """

    number: int
    data: bytes
    manifest: Mapping[str, Any]
    etrecord: Path | None = None

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def fact(self, *path: str) -> Any:
        """A field of the manifest, None without."""
        value: Any = self.manifest
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    @property
    def device(self) -> str:
        return str(self.fact("device", "name"))

    @property
    def build(self) -> str:
        return str(self.fact("build", "id"))

    @property
    def model(self) -> tuple[str, str | None]:
        """Name and backend."""
        return str(self.fact("model", "name")), self.fact("model", "backend")

    @cached_property
    def captured_at(self) -> datetime | None:
        return parse_time(self.fact("captured_at"))

    @cached_property
    def tags(self) -> dict[str, Any]:
        """Free fields: those under tags, and all that have no meaning of their own.

        A field inside others goes by the path of its keys.
        """
        named = {key: value for key, value in self.manifest.items() if key not in MANIFEST_FIELDS}
        return dict(_leaves({**named, **(self.fact("tags") or {})}))

    @cached_property
    def ns_per_tick(self) -> float | None:
        return _rate(self.fact("clock") or {})

    @cached_property
    def delegate_ns_per_tick(self) -> float | None:
        clocks = {
            name.lower(): rate for name, rate in (self.fact("clock", "delegates") or {}).items()
        }
        own = clocks.get((self.model[1] or "").lower())
        return self.ns_per_tick if own is None else _rate(own)

    @property
    def tick_unit(self) -> str:
        return self.fact("clock", "unit") or "ns"

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        found = read_reference(self.data).get("run_data", [])
        return tuple(self._run(index, run) for index, run in enumerate(found))

    @cached_property
    def complete_runs(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.is_complete)

    @cached_property
    def delegate_step(self) -> int:
        """Ticks that the clock of the delegate's operators counts by: 1, 1,000 or 1,000,000."""
        ticks = [
            e.ticks for r in self.runs for e in r.of_kind("delegate_op") if e.ticks is not None
        ]
        return next((s for s in (1_000_000, 1_000) if ticks and all(t % s == 0 for t in ticks)), 1)

    def step(self, kind: str) -> int:
        """Ticks that the clock of events of a kind counts by."""
        return self.delegate_step if kind == "delegate_op" else 1

    def rate(self, kind: str) -> float | None:
        """Nanoseconds per tick of events of a kind."""
        return self.delegate_ns_per_tick if kind == "delegate_op" else self.ns_per_tick

    def _run(self, index: int, run: Mapping[str, Any]) -> Run:
        events = run.get("events", [])
        distinct, of_profile = group_run(events)
        seen: Counter[EventSignature] = Counter()
        found = []
        places = [place for place, event in enumerate(events) if "profile_event" in event]
        for place, signature in zip(places, of_profile, strict=True):
            found.append(self._event(events[place]["profile_event"], signature, place, seen))
            seen[signature] += 1
        names = [text(allocator.get("name")) for allocator in run.get("allocators", [])]
        allocations = [
            Allocation(place, _nth(names, event["allocation_event"]["allocator_id"]),
                       event["allocation_event"]["allocation_size"])
            for place, event in enumerate(events)
            if "allocation_event" in event
        ]  # fmt: skip
        name, bundled = text(run.get("name")), run["bundled_input_index"]
        return Run(
            index,
            name,
            RunSignature(name, bundled, distinct) if "events" in run else None,
            tuple(found),
            tuple(allocations),
            tuple(event["debug_event"] for event in events if "debug_event" in event),
            bundled,
        )

    def _event(
        self, event: Mapping[str, Any], signature: EventSignature, place: int, seen: Counter[Any]
    ) -> Event:
        start, end = event["start_time"], event["end_time"]
        return Event(
            signature,
            event["chain_index"],
            place,
            start,
            duration(start, end),
            _signed(end - start) if duration(start, end) is None else duration(start, end) or 0,
            seen[signature],
            self.rate(kind_of(signature)),
        )


def _leaves(fields: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def parse_time(value: str | None) -> datetime | None:
    """A time in ISO 8601, UTC where it does not say."""
    if value is None:
        return None
    time = datetime.fromisoformat(value)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _rate(clock: Mapping[str, Any]) -> float | None:
    if clock.get("ticks_per_second"):
        return 1e9 / float(clock["ticks_per_second"])
    return NS_PER_UNIT.get(clock.get("unit") or "ns")


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _nth(names: list[str | None], number: int) -> str | None:
    return names[number - 1] if 0 < number <= len(names) else None
