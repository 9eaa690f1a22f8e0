"""Units of clock ticks and of reported durations, with the Inspector's names. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tracehouse.queries.errors import UnconvertibleError
from tracehouse.warehouse.errors import QueryError, suggest
from tracehouse.warehouse.statistics.arrays import Floats
from tracehouse.warehouse.statistics.clock_steps import RUNTIME
from tracehouse.warehouse.statistics.rollups import clock_resolution, group_events


class TimeScale(StrEnum):
    """Unit of a clock's ticks or of reported durations."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


Clock = TimeScale | Fraction  # unit of a tick, or ticks per second

_SLOWEST, _FASTEST = 1e-3, 1e18  # ticks per second
_NS = {TimeScale.NS: 1, TimeScale.US: 10**3, TimeScale.MS: 10**6, TimeScale.S: 10**9}


def target_per_source(source: Clock, target: TimeScale) -> Fraction:
    """Length of a tick of the source in target units.

    Raises:
        UnconvertibleError: Only one of them is cycles.

    >>> target_per_source(TimeScale.NS, TimeScale.MS)
    Fraction(1, 1000000)
    >>> target_per_source(Fraction(24_000_000), TimeScale.US)
    Fraction(1, 24)
    """
    if source == target:
        return Fraction(1)
    if TimeScale.CYCLES in (source, target):
        raise UnconvertibleError(
            f"cannot convert {source} to {target}: cycles have no fixed length, "
            "so give both time scales as cycles or neither"
        )
    if isinstance(source, Fraction):
        return Fraction(_NS[TimeScale.S], _NS[target]) / source
    return Fraction(_NS[source], _NS[target])


def parse_clock(text: str) -> Clock:
    """The runtime's clock.

    Raises:
        QueryError: The text is neither a unit nor a number of ticks per second.
    """
    return _parse_clock(text, "clock", "us or 19200000")


def parse_delegate_clocks(text: str) -> dict[str, Clock]:
    """Clocks by backend; a clock without a backend is under "" and applies to all others.

    Raises:
        QueryError: A clock is neither a unit nor a number of ticks per second.

    >>> parse_delegate_clocks("us,HexagonBackend=19.2e6")
    {'': <TimeScale.US: 'us'>, 'HexagonBackend': Fraction(19200000, 1)}
    """
    clocks = {}
    examples = "us or XnnpackBackend=us or HexagonBackend=19200000"
    for part in text.split(",") if text.strip() else ():
        backend, _, clock = part.rpartition("=")
        clocks[backend.strip()] = _parse_clock(clock, "delegate clock", examples)
    return clocks


def _parse_clock(text: str, what: str, examples: str) -> Clock:
    stripped = text.strip()
    if stripped.lower() in list(TimeScale):
        return TimeScale(stripped.lower())
    try:
        is_rate = _SLOWEST <= float(stripped) <= _FASTEST
    except ValueError:
        is_rate = False
    if not is_rate:
        units = ", ".join(TimeScale)
        raise QueryError(
            f"{what} '{stripped}': wanted {units} or ticks per second, such as {examples}"
        )
    return Fraction(stripped)


def check_backends(stated: Collection[str], found: Iterable[str | None]) -> None:
    """Check that the backends of clocks ("" stands for all others) are those of some events.

    Raises:
        QueryError: No event ran on a clock's backend.
    """
    known = sorted(filter(None, set(found)))
    for backend in sorted({*stated} - {"", *known}):
        others = suggest(backend, known)
        raise QueryError(f"delegate clock of {backend}: no event ran on it{others}")


Scale = Callable[[Floats], Floats]  # durations in ticks -> durations in the target time scale
Converter = Callable[[str, int], float]  # event name, clock reading -> reading in the target
DelegateTimes = Mapping[str, Clock] | Converter  # clocks by backend, "" for all others


def constant_scale(target_per_tick: Fraction) -> Scale:
    """The scale of a clock with ticks of constant length."""
    return lambda ticks: ticks * target_per_tick.numerator / target_per_tick.denominator


def converter_scale(converter: Converter, event: str) -> Scale:
    """The scale of an event's durations by a converter of clock readings.

    The converter is called for the duration and for 0 instead of both readings, as the difference
    of large readings would lose digits.
    """

    def scale(ticks: Floats) -> Floats:
        origin = converter(event, 0)
        times = [converter(event, int(tick)) - origin for tick in ticks.tolist()]
        return np.array(times, np.float64)

    return scale


class Scales:
    """The scale of each event, as delegates may have their own clocks."""

    def __init__(self, source: TimeScale, target: TimeScale, delegates: DelegateTimes) -> None:
        """Compute the scales; converting between cycles and a unit of time raises QueryError."""
        self.time_scales = source, target
        self._scale = constant_scale(target_per_source(source, target))
        self._converter = delegates if callable(delegates) else None
        self._by_backend = {
            backend: constant_scale(target_per_source(clock, target))
            for backend, clock in ({} if callable(delegates) else delegates).items()
        }

    @property
    def backends(self) -> Collection[str]:
        """Backends with their own clocks, and "" if all others have one."""
        return self._by_backend.keys()

    def of_event(self) -> Scale:
        """The scale of an event outside delegates."""
        return self._scale

    def of_delegated(self, event: str, backend: str | None) -> Scale:
        """The scale of a delegated event, by its name and backend."""
        if self._converter:
            return converter_scale(self._converter, event)
        others = self._by_backend.get("", self._scale)
        return self._by_backend.get(backend or "", others)


COARSE_NS = 1e3  # steps from here on are told


def coarse_clock_note(tables: Mapping[str, pa.Table], tick: TimeScale) -> str | None:
    """A sentence about the clock of a decoded dump if it steps coarsely; None otherwise."""
    if tick is TimeScale.CYCLES:
        return None
    groups = group_events(tables["events"])
    ticks = float(clock_resolution(groups, tables["event_signatures"], 1)[0, RUNTIME])
    step_ns = ticks * float(target_per_source(tick, TimeScale.NS))
    if ticks == 1 or step_ns < COARSE_NS:
        return None
    return (
        f"the clock counts {tick}, but steps in {step_ns / 1e3:,.4g} us: "
        "times are known to a step only"
    )
