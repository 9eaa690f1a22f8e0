"""Ticks of a dump's clocks -> durations in the target time scale. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tracehouse.queries.event_blocks.time_scales import Clock, TimeScale, target_per_source
from tracehouse.warehouse.statistics.arrays import Floats
from tracehouse.warehouse.statistics.clock_steps import RUNTIME
from tracehouse.warehouse.statistics.rollups import clock_resolution, group_events

Scale = Callable[[Floats], Floats]  # durations in ticks -> durations in the target time scale
Converter = Callable[[str, int], float]  # event name, clock reading -> reading in the target
DelegateTimes = Mapping[str, Clock] | Converter  # clocks by backend, "" for all others

COARSE_NS = 1e3  # steps from here on are told


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
        self.converter = delegates if callable(delegates) else None
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
        if self.converter:
            return converter_scale(self.converter, event)
        others = self._by_backend.get("", self._scale)
        return self._by_backend.get(backend or "", others)


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
