"""Scales and axes of charts: where a value stands, and round ticks with their texts. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MOST_TICKS = 5
_LEAST_SPAN = 0.04  # share of the largest value
_MARGIN = 0.08  # share of the span
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


class AxisKind(NamedTuple):
    """The unit of an axis, and whether it is logarithmic, begins at zero, or shows any difference.

    An axis that does not is at least 4 % of its largest value long, so that noise looks small.
    """

    unit: str = "ns"
    is_log: bool = False
    has_zero: bool = False
    is_tight: bool = False


class Axis(NamedTuple):
    """An axis with its ticks: value and text."""

    scale: Scale
    kind: AxisKind
    ticks: list[tuple[float, str]]

    def __call__(self, value: float | None) -> float | None:
        """Position of a value; None without one, and for zero on a logarithmic axis."""
        if value is None or (self.kind.is_log and value <= 0):
            return None
        return self.scale(math.log10(value) if self.kind.is_log else value)


def make_axis(values: Iterable[float], kind: AxisKind, *, start: float, end: float) -> Axis | None:
    """An axis for values, between two edges; None if it can show none of them."""
    shown = [value for value in values if value > 0 or not kind.is_log]
    if not shown:
        return None
    if kind.is_log:
        low, high = math.log10(min(shown)) - 0.02, math.log10(max(shown)) + 0.02
        found = log_ticks(min(shown), max(shown))
    else:
        low, high = _ends(min(shown), max(shown), kind)
        found = round_ticks(low, high)
    texts = tick_texts(found, kind.unit)
    return Axis(Scale(low, high, start, end), kind, list(zip(found, texts, strict=True)))


def _ends(low: float, high: float, kind: AxisKind) -> tuple[float, float]:
    """The ends of an axis that shows all values with a margin."""
    least = _LEAST_SPAN * max(abs(low), abs(high)) or 1.0
    if kind.is_tight and high > low:
        least = 0.0
    margin = max(_MARGIN * (high - low), (least - (high - low)) / 2)
    first = low - margin if low < 0 else max(0.0, low - margin)
    return (min(0.0, first), max(0.0, high + margin)) if kind.has_zero else (first, high + margin)


def round_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from low to high.

    >>> round_ticks(1.93, 2.31), round_ticks(0, 1000)
    ([2.0, 2.1, 2.2, 2.3], [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0])
    """
    raw = (high / 2 - low / 2) / MOST_TICKS * 2
    power = math.floor(math.log10(raw)) if raw > 0 else 0
    if not -300 < power < 300:
        return [low, high]
    step = next(n for n in (1, 2, 5, 10) if n * 10.0**power >= raw * 0.999) * 10.0**power
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from low to high, with multiples between them if few powers are there.

    >>> log_ticks(30, 4000), log_ticks(2, 3)
    ([50.0, 100.0, 500.0, 1000.0], [2.0, 2.2, 2.4, 2.6, 2.8, 3.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 5), (1, 2, 5)):
        found = [n * 10.0**power for power in powers for n in factors]
        shown = [tick for tick in found if low <= tick <= high]
        if len(shown) >= MOST_TICKS - 1:
            return shown[:: math.ceil(len(shown) / (2 * MOST_TICKS))]
    return round_ticks(low, high) if high > low else [low]


def duration_unit(size_ns: float) -> tuple[float, str]:
    """The nanoseconds and the name of the unit that fits a duration.

    >>> duration_unit(1_234_567), duration_unit(0)
    ((1000000.0, 'ms'), (1.0, 'ns'))
    """
    return next((pair for pair in _UNITS if size_ns >= pair[0] * 0.99995), (1.0, "ns"))


def tick_texts(ticks: Sequence[float], unit: str) -> list[str]:
    """Texts of ticks in a common unit.

    >>> tick_texts([0, 500_000, 1_500_000], "ns"), tick_texts([-0.01, 0.02], "share")
    (['0 ms', '0.5 ms', '1.5 ms'], ['−1 %', '2 %'])
    >>> tick_texts([1000, 2000], "bytes"), tick_texts([1, 2], "count")
    (['1,000 bytes', '2,000 bytes'], ['1', '2'])
    """
    size, name = 1.0, "" if unit == "count" else unit
    if unit == "ns":
        size, name = duration_unit(max(map(abs, ticks), default=0))
    elif unit in ("share", "change"):
        size, name = 0.01, "%"
    return [f"{tick / size:,.10g} {name}".rstrip().replace("-", "−", 1) for tick in ticks]


class Scale(NamedTuple):
    """Maps values to positions between two edges; to the middle if all are equal."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Position of a value, to a tenth."""
        span = self.high / 2 - self.low / 2  # halves, which no difference makes infinite
        share = (value / 2 - self.low / 2) / span if span > 0 else 0.5
        return round(self.start + share * (self.end - self.start), 1)
