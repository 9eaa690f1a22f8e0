"""Durations of profile events: right, and as the Inspector works them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.support.plain_rows import expected_flags
from tests.tools.parity.bugs import Bug
from tests.tools.parity.errors import InspectorError
from tests.tools.parity.grouping import Json, Member

PER_SECOND = {"ns": 1000000000, "us": 1000000, "ms": 1000, "s": 1, "cycles": 1}
DURATION_BUGS = frozenset({Bug.I1, Bug.I2, Bug.I3, Bug.X3})
STATISTICS = ("p10", "p50", "p90", "avg", "min", "max")
_LARGEST_32 = 2**32 - 1


class Clock(NamedTuple):
    """Units of ticks and of durations, and by what a delegate's ticks are divided, if stated."""

    source: str
    target: str
    delegate_divisor: int | None = None

    def divisor(self, is_delegated: bool) -> float:
        """Ticks per target unit, as the Inspector computes it."""
        if is_delegated and self.delegate_divisor is not None:
            return self.delegate_divisor
        return PER_SECOND[self.source] / PER_SECOND[self.target]


def samples(
    runs: Sequence[Sequence[Member]], clock: Clock, *, is_delegated: bool, bugs: frozenset[Bug]
) -> Json:
    """The numbers of an event: raw, statistics, start_time and metadata; null without any.

    Raises:
        InspectorError: if the Inspector would.
    """
    chosen = [member.profile for members in runs for member in _kept(members, bugs)]
    profiles = [profile for profile in chosen if profile is not None]
    timed = [
        (profile, duration)
        for profile in profiles
        if (duration := _duration(profile, clock, is_delegated, bugs)) is not None
    ]
    raw = [duration for _, duration in timed]
    metadata = [bytes(p.get("delegate_debug_metadata", b"")).hex() for p, _ in timed]
    return {
        "raw": raw if profiles else None,
        **(_statistics(raw) if raw else dict.fromkeys(STATISTICS)),
        "start_time": [profile["start_time"] for profile, _ in timed] if profiles else None,
        "raw_delegate_debug_metadatas": metadata if any(metadata) else [],
    }


def _kept(members: Sequence[Member], bugs: frozenset[Bug]) -> list[Member]:
    if Bug.I1 in bugs:
        return [members[-1]]
    return sorted(members, key=lambda member: member.place)


def is_possible(profile: Json) -> bool:
    """Whether the readings of an event's clock can be right: a backward clock has 32 bits."""
    return expected_flags(profile["start_time"], profile["end_time"]) <= 1


def _duration(
    profile: Json, clock: Clock, is_delegated: bool, bugs: frozenset[Bug]
) -> float | None:
    """A duration in target units; None for one that is left out."""
    start, end = profile["start_time"], profile["end_time"]
    divisor = clock.divisor(is_delegated)
    if not is_possible(profile):
        if (Bug.I3 if end < start else Bug.X3) not in bugs:
            return None
        if end < start and (not is_delegated or start / divisor > _LARGEST_32):
            raise InspectorError(Bug.I3, "ValueError", "Expected start_time (")
    if is_delegated and Bug.I2 in bugs:
        return float(_elapsed(start / divisor, end / divisor, 2**32 / divisor, bugs))
    return float(_elapsed(start, end, 2**32, bugs)) / divisor


def _elapsed(start: Any, end: Any, period: Any, bugs: frozenset[Bug]) -> Any:
    if start <= end:
        return end - start
    if Bug.I3 in bugs:
        return (_LARGEST_32 - start) + end
    return end + period - start


def _statistics(raw: Sequence[float]) -> dict[str, float]:
    if len(raw) == 1:
        return dict.fromkeys(STATISTICS, raw[0])
    shares = np.percentile(raw, (10, 50, 90)).tolist()
    numbers = (*shares, float(np.mean(raw)), float(min(raw)), float(max(raw)))
    return dict(zip(STATISTICS, numbers, strict=True))
