"""A plain comparison of two samples, pair by pair: the oracle of the comparison in SQL."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple


class PlainComparison(NamedTuple):
    """A comparison of head and base, in logarithms; the interval is None with too few values."""

    p: float
    shift: float
    low: float | None
    high: float | None
    is_centred: bool


def compare(base, head) -> PlainComparison:
    """Compare two lists of times."""
    logs = [math.log(max(value, 1)) for value in base], [math.log(max(v, 1)) for v in head]
    base, head, is_centred = centred(*logs)
    differences = sorted(h - b for b in base for h in head)
    rank = interval_rank(len(base), len(head))
    return PlainComparison(
        p_value(base, head),
        median(differences),
        None if rank is None else differences[rank],
        None if rank is None else differences[-1 - rank],
        is_centred,
    )


def centred(base, head):
    """The samples minus the centres of their modes, and whether they had modes."""
    pooled = sorted(base + head)
    out = math.ceil(0.08 * len(pooled))
    kept = pooled[out : len(pooled) - out]
    gaps = [(after - before, before) for before, after in pairwise(kept)]
    if not gaps:
        return base, head, False
    widest = max(gap for gap, _ in gaps)
    split = min(before for gap, before in gaps if gap == widest)
    if widest <= 0.08 or widest <= 8 * median(gap for gap, _ in gaps):
        return base, head, False
    slow = [sum(y > split for y in side) / len(side) for side in (base, head)]
    both = [side for side, share in zip((base, head), slow, strict=True) if 0.15 <= share <= 0.85]
    if not both or (min(slow) <= 0.25 and max(slow) >= 0.75):
        return base, head, False
    fast_centre = fmean(median(y for y in side if y <= split) for side in both)
    slow_centre = fmean(median(y for y in side if y > split) for side in both)
    less = [[y - (slow_centre if y > split else fast_centre) for y in s] for s in (base, head)]
    return *less, True


def p_value(base, head) -> float:
    """Two-sided p of the Mann-Whitney test; if above 0.2, the normal p, but at least 0.2."""
    n, m = len(base), len(head)
    u = sum((h > b) + (h == b) / 2 for b in base for h in head)
    u = min(u, n * m - u)
    exact = exact_p(math.ceil(u), n, m) if max(n, m) <= 30 else None
    if exact is not None and exact <= 0.2:
        return exact
    ties = sum((base + head).count(y) ** 2 - 1 for y in base + head)
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    z = max(n * m / 2 - u - 0.5, 0) / math.sqrt(variance) if variance > 0 else 0
    normal = math.erfc(z / math.sqrt(2))
    return normal if exact is None else max(normal, 0.2)


def exact_p(u: int, n: int, m: int) -> float:
    """Probability of a U at least as extreme on either side, without ties."""
    return 2 * sum(orders(n, m, value) for value in range(u + 1)) / math.comb(n + m, n)


@cache
def orders(n: int, m: int, u: int) -> int:
    """Number of orders of n and m values in which u pairs have the greater value among the n."""
    if u < 0:
        return 0
    if n == 0 or m == 0:
        return int(u == 0)
    return orders(n - 1, m, u - m) + orders(n, m - 1, u)


def interval_rank(n: int, m: int) -> int | None:
    """Position, from either end, of the 99 % interval's limits among the sorted differences."""
    if max(n, m) > 30:
        spread = 2.575829 * math.sqrt(n * m * (n + m + 1) / 12)
        rank = math.floor(n * m / 2 + 0.5 - spread) - 1
        return rank if rank >= 0 else None
    rare = [u for u in range(n * m // 2 + 1) if exact_p(u, n, m) <= 0.01]
    return max(rare, default=None)


def adjusted(p) -> list[float]:
    """p values adjusted by Benjamini and Hochberg, in the same order."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    least, found = 1.0, [0.0] * len(p)
    for rank in range(len(p), 0, -1):
        least = min(least, p[order[rank - 1]] * len(p) / rank)
        found[order[rank - 1]] = least
    return found
