"""Statistics by the book, over plain lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import fmean, median, stdev

Values = Sequence[float]


def percentile(values: Values, share: float) -> float:
    """By linear interpolation between the two values beside the place."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def middle(values: Iterable[float | None]) -> float | None:
    """Median of the values that are known; None without any."""
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


def whole_middle(values: Iterable[float | None], untimed: int) -> float | None:
    """Median of the values that are known; None if any dump is not timed."""
    return None if untimed else middle(values)


def whole_sum(values: Iterable[float | None]) -> float | None:
    """Sum; None where one is unknown, and without any."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return math.fsum(known) if listed and len(known) == len(listed) else None


def ratio(above: float | None, below: float | None) -> float | None:
    """One over the other; None if one is unknown or the other 0."""
    return None if above is None or not below else above / below


def scaled(value: float | None, rate: float | None) -> float | None:
    """A value in other units; None if it or the rate is unknown."""
    return None if value is None or rate is None else value * rate


def difference(above: float | None, below: float | None) -> float | None:
    """One less the other; None if one is unknown."""
    return None if above is None or below is None else above - below


def rest(whole: float | None, part: float | None) -> float | None:
    """What is left of the whole; None if one is unknown, or the part is more than the whole."""
    left = difference(whole, part)
    return None if left is None or left < 0 else left


def share(part: float | None, whole: float | None) -> float | None:
    """The part of the whole, up to 1; None if one is unknown, or the part is more."""
    return None if rest(whole, part) is None else ratio(part, whole)


def more_by(value: float, share: float) -> Fraction:
    """A value and a share of it, exactly as the decimals say it."""
    return Fraction(value) * (1 + Fraction(str(share)))


def spread(values: Values) -> dict[str, float | None]:
    """How unsteady values are, as shares."""
    half = percentile(values, 0.5)
    return {
        "cv": ratio(stdev(values), fmean(values)) if len(values) > 1 else None,
        "iqr_share": ratio(percentile(values, 0.75) - percentile(values, 0.25), half),
        "p99_over_p50": ratio(percentile(values, 0.99), half),
        "max_over_min": ratio(max(values), min(values)),
    }
