"""Small plots in a line of text. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_HEIGHTS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"
_GAP = "·"


def sparkline(values: Sequence[float | None]) -> str:
    """A character per value, from lowest to highest; a dot for a missing value.

    Values within 5 % of each other look alike, so that noise does not stand out.

    >>> sparkline([100.0, 101.0, None, 150.0, 200.0])
    '▁▁·▅█'
    """
    known = [value for value in values if _is_known(value)]
    if not known:
        return _GAP * len(values)
    low, high = min(known), max(known)  # type: ignore[type-var]
    span = max(high - low, 0.05 * abs(low)) or 1.0  # type: ignore[operator,arg-type]
    return "".join(
        _HEIGHTS[min(7, round((value - low) / span * 7))]  # type: ignore[operator]
        if _is_known(value)
        else _GAP
        for value in values
    )


def bar(share: float | None, width: int = 12) -> str:
    """A bar whose length is this share of the width.

    >>> bar(0.5, 4), bar(0.03, 4), bar(None)
    ('██', '▏', '')
    """
    if not _is_known(share):
        return ""
    eighths = round(min(1.0, max(0.0, share or 0.0)) * width * 8)
    eighths = max(eighths, 1) if share else eighths
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def histogram(shares: Sequence[float], values: Sequence[float | None], width: int = 20) -> str:
    """The density of values between the smallest and the largest, on a logarithmic axis.

    Args:
        shares: The shares of the percentiles, from 0 to 1, ascending.
        values: The percentiles; between two of them values are taken as equally frequent.
        width: Columns.

    >>> histogram([0, 0.5, 1], [100.0, 110.0, 400.0], 8)
    '█▂▂▂▂▂▂▂'
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not all(map(_is_known, known)):
        return ""
    edges = _edges(max(known[0], known[-1] * 1e-6), known[-1], width)
    masses = [_below(b, shares, known) - _below(a, shares, known) for a, b in pairwise(edges)]
    most = max(masses)
    if most <= 0:
        return "█"
    return "".join(_HEIGHTS[round(mass / most * 7)] if mass > 0 else " " for mass in masses)


def _edges(low: float, high: float, count: int) -> list[float]:
    if not 0 < low < high:
        return [low, high]
    ratio = (high / low) ** (1 / count)
    return [low * ratio**i for i in range(count)] + [high]


def _below(value: float, shares: Sequence[float], values: Sequence[float]) -> float:
    if value <= values[0]:
        return 0.0
    for (a, low), (b, high) in pairwise(zip(shares, values, strict=True)):
        if value <= high:
            return a if high == low else a + (b - a) * (value - low) / (high - low)
    return shares[-1]


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
