"""Operators that make up the change of a method or a delegate's call. Pure.

A call is timed more finely than the operators inside it, which some delegates count in whole
microseconds: so a call can show a change that none of its operators shows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.regressions.pair_figures import PairFigures
from tracehouse.warehouse.regressions.pair_series import PairSeries
from tracehouse.warehouse.regressions.pair_verdicts import PairJudgement
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict
from tracehouse.warehouse.statistics.arrays import Floats

_PARTS = {"method": ("kernel", "delegate_call"), "delegate_call": ("delegate_op",)}  # by kind
_MOST_NAMED = 3
_SHORT = SeriesVerdict.BELOW_RESOLUTION
_UNSEEN = (SeriesVerdict.UNCHANGED, SeriesVerdict.INCONCLUSIVE)


class Explanation(NamedTuple):
    """What a change may be made up of.

    Attributes:
        explained_by: The three operators or calls in it that add most to its change, with their
            shares of it; None without any.
        may_be: Of a call that no operator explains, the three longest ones that could hide half of
            its change; None otherwise.
    """

    explained_by: str | None
    may_be: str | None


def explain_changes(
    series: PairSeries, figures: PairFigures, judged: PairJudgement
) -> dict[int, Explanation]:
    """The explanation of each changed method and call, by the number of its series."""
    kinds = series.keys["kind"].to_pylist()
    wholes = [n for n in np.flatnonzero(judged.cost).tolist() if kinds[n] in _PARTS]
    if not wholes:
        return {}
    members: dict[int, list[int]] = defaultdict(list)
    families = {int(judged.family[n]) for n in wholes}
    for n, family in enumerate(judged.family.tolist()):
        if family in families:
            members[family].append(n)
    columns = (series.keys[key].to_pylist() for key in ("event_name", "ordinal"))
    names = list(zip(*columns, strict=True))
    found = {}
    for whole in wholes:
        parts = [
            n
            for n in members[int(judged.family[whole])]
            if kinds[n] in _PARTS[kinds[whole]]
            and series.is_ns[n] == series.is_ns[whole]
            and (kinds[whole] == "method" or series.instruction[n] == series.instruction[whole])
        ]
        cost = float(judged.cost[whole])
        shares = {n: float(judged.cost[n]) / cost for n in parts}
        hiding: list[int] = []
        if kinds[whole] == "delegate_call" and max(shares.values(), default=1) <= 0:
            hiding = _list_hiding(parts, cost, series, figures, judged.verdict)
        found[whole] = _explain(shares, hiding, names)
    return found


def _list_hiding(
    parts: Iterable[int],
    cost: float,
    series: PairSeries,
    figures: PairFigures,
    verdict: Sequence[SeriesVerdict],
) -> list[int]:
    """The operators that could hide half of the change of a call, the longest first."""
    bound = figures.high if cost > 0 else figures.low
    most = math.copysign(1, cost) * figures.base_value * np.expm1(bound)
    hidden = np.fmax(most, series.half_tick) >= abs(cost) / 2
    found = [
        n for n in parts if verdict[n] == _SHORT or (verdict[n] in _UNSEEN and bool(hidden[n]))
    ]
    return sorted(found, key=lambda n: _length(figures.base_value, n))


def _length(value: Floats, number: int) -> tuple[bool, float]:
    """A key that sorts the longest first, and unknown ones last."""
    is_unknown = bool(np.isnan(value[number]))
    return is_unknown, 0.0 if is_unknown else -float(value[number])


def _explain(
    shares: dict[int, float], hiding: Sequence[int], names: Sequence[tuple[str, int]]
) -> Explanation:
    def name(number: int) -> str:
        event, ordinal = names[number]
        return f"{event} #{ordinal}"

    largest = sorted(shares, key=lambda n: -shares[n])[:_MOST_NAMED]
    explaining = [f"{name(n)} {_percent(shares[n])} %" for n in largest if shares[n] > 0]
    possible = [name(n) for n in hiding[:_MOST_NAMED]]
    return Explanation(", ".join(explaining) or None, ", ".join(possible) or None)


def _percent(share: float) -> int:
    """A share in whole percent; a half is rounded up, as in SQL."""
    return math.floor(100 * share + 0.5)
