"""The length of ticks of a dump's clocks in nanoseconds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tracehouse.queries.event_blocks.time_scales import (
    Clock,
    TimeScale,
    parse_clock,
    parse_delegate_clocks,
    target_per_source,
)


class Clocks(NamedTuple):
    """Nanoseconds per tick; None for cycles of unknown rate.

    Attributes:
        ns_per_tick: For the runtime's clock.
        delegates: For delegates' clocks by backend, "" for all others; else the runtime's clock.
    """

    ns_per_tick: float | None = 1.0
    delegates: Mapping[str, float | None] = {}

    def of_delegate(self, backend: str | None) -> float | None:
        """Nanoseconds per tick of a backend's events."""
        others = self.delegates.get("", self.ns_per_tick)
        return self.delegates.get(backend or "", others)


def parse_clocks(clock: str | None, delegate_clock: str | None) -> Clocks:
    """The clocks that a command line gives; by default the runtime's clock is in nanoseconds.

    Raises:
        QueryError: A clock is neither a unit nor a number of ticks per second.

    >>> parse_clocks("us", "HexagonBackend=19.2e6").of_delegate("HexagonBackend")
    52.083333333333336
    """
    delegates = parse_delegate_clocks(delegate_clock or "")
    return Clocks(
        _ns_per_tick(parse_clock(clock or TimeScale.NS)),
        {backend: _ns_per_tick(stated) for backend, stated in delegates.items()},
    )


def _ns_per_tick(clock: Clock) -> float | None:
    if clock is TimeScale.CYCLES:
        return None
    return float(target_per_source(clock, TimeScale.NS))
