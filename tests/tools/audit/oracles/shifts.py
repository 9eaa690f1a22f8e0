"""Operators over many builds, and all operators of a device together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

from tests.support.plain_comparison import p_value
from tests.tools.audit.oracles.places import Params, Row, builds_in_order, two_builds
from tests.tools.audit.oracles.values import Value, compared_values, values_of
from tests.tools.audit.recordings import Recording

MIN_CHANGE = 0.03
CERTAIN, DOUBTFUL = 1e-6, 1e-4  # p


def run_shifts(dumps: Sequence[Recording], params: Params) -> list[Row]:
    values: dict[int, list[Value]] = defaultdict(list)
    for value in values_of(dumps):
        if value.value is not None:
            values[value.dump.number].append(value)
    rows = []
    for where, (base, head) in two_builds(dumps, params):
        mine = [value for dump in base + head for value in values[dump.number]]
        counts = {"base_count": len(base), "head_count": len(head)}
        rows.append(where | counts | _shift(mine, params["head"]))
    return rows


def _shift(values: list[Value], head: str) -> Row:
    series: dict[Any, tuple[list[Value], list[Value]]] = defaultdict(lambda: ([], []))
    for value in values:
        if value.kind in ("kernel", "delegate_op"):
            series[value.key, value.unit][value.dump.build == head].append(value)
    votes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for base, head_ in series.values():
        if min(len(base), len(head_)) >= 5:
            logs = [[math.log(max(v.value or 0.0, 1.0)) for v in side] for side in (base, head_)]
            level = median(logs[0])
            if level >= math.log(max(v.floor for v in base + head_)):
                error = 1.2533 * 1.4826 * median(abs(y - level) for y in logs[0])
                moved = median(logs[1]) - level
                kernel = base[0].event.name.split("#")[0]
                votes[kernel].append((moved, max(error / math.sqrt(len(base)), 0.01)))
    shift = _weighted_median(votes) if len(votes) >= 6 else None
    return {
        "operator_count": sum(map(len, votes.values())),
        "kernel_count": len(votes),
        "shift": None if shift is None else math.expm1(shift),
        "verdict": _moved(None if shift is None else math.expm1(shift)),
    }


def _weighted_median(votes: dict[str, list[tuple[float, float]]]) -> float:
    weighed = sorted(
        (median(moved for moved, _ in own), 1 / min(error for _, error in own) ** 2)
        for own in votes.values()
    )
    half, reached = sum(weight for _, weight in weighed) / 2, 0.0
    for vote, weight in weighed:
        reached += weight
        if reached * (1 + 1e-12) >= half:
            return vote
    return weighed[-1][0]


def _moved(shift: float | None) -> str:
    if shift is None:
        return "too_few_kernels"
    return "slower" if shift >= 0.03 else "faster" if shift <= -0.03 else "steady"


def change_points(dumps: Sequence[Recording], params: Params) -> list[Row]:
    series: dict[Any, list[Value]] = defaultdict(list)
    for value in compared_values(dumps, params):
        series[value.key, value.unit].append(value)
    order = builds_in_order(dumps)
    return [
        _change_point(own, order, params.get("min_change", MIN_CHANGE)) for own in series.values()
    ]


def _change_point(values: list[Value], order: list[str], min_change: float) -> Row:
    builds = sorted({v.dump.build for v in values}, key=order.index)
    logs = {
        b: [math.log(max(v.value or 0.0, 1.0)) for v in values if v.dump.build == b] for b in builds
    }
    best: tuple[float, int] | None = None
    least = 1.0
    for back in range(2, min(8, len(builds) - 1) + 1):
        first = len(builds) - back
        before = [y for b in builds[max(first - 10, 0) : first] for y in logs[b]]
        after = [y for b in builds[first:] for y in logs[b]]
        least = min(least, _least_p(len(before), len(after)))
        z = _z(before, after)
        if best is None or z > best[0]:
            best = z, first
    row = values[0].operator | {
        "build_count": len(builds), "dump_count": len(values), "unit": values[0].unit,
    }  # fmt: skip
    return row | _described(values, builds, (best, least), min_change)


def _described(
    values: list[Value], builds: list[str], best: tuple[tuple[float, int] | None, float],
    min_change: float,
) -> Row:  # fmt: skip
    names = ("first_bad", "last_good", "before", "after", "now", "delta", "p")
    nothing: Row = dict.fromkeys(names)
    if best[0] is None:
        return nothing | {"verdict": "insufficient_data"}
    (_, first), least = best
    sides = [_values(values, builds[max(first - 10, 0) : first]), _values(values, builds[first:])]
    now = _values(values, builds[-2:])
    logs = [[math.log(max(v, 1.0)) for v in side] for side in (*sides, now)]
    p = p_value(logs[0], logs[1])
    shift = median(a - b for b in logs[0] for a in logs[1]) if p <= DOUBTFUL else None
    if least > CERTAIN:
        verdict = "insufficient_data"
    elif median(sides[0]) < median(v.floor for v in values):
        verdict = "below_resolution"
    else:
        verdict = _since(p, shift, median(logs[2]) - median(logs[0]), min_change)
    row = nothing | {
        "verdict": verdict,
        "delta": None if shift is None else math.expm1(shift),
        "p": p,
    }
    if verdict in ("gone", "regression", "improvement"):
        row |= {"first_bad": builds[first], "last_good": builds[first - 1], "now": median(now),
                "before": median(sides[0]), "after": median(sides[1])}  # fmt: skip
    return row


def _since(p: float, shift: float | None, shift_now: float, min_change: float) -> str:
    if shift is None or abs(math.expm1(shift)) < min_change - 1e-12:
        return "unchanged"
    if p > CERTAIN:
        return "inconclusive"
    if shift_now / shift < 0.5:
        return "gone"
    return "regression" if shift > 0 else "improvement"


def _values(values: list[Value], builds: list[str]) -> list[float]:
    return [v.value for v in values if v.dump.build in builds and v.value is not None]


def _z(before: list[float], after: list[float]) -> float:
    n, m = len(before), len(after)
    u = sum((a > b) + (a == b) / 2 for b in before for a in after)
    both = before + after
    ties = sum(both.count(y) ** 2 - 1 for y in both)
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    return max(abs(u - n * m / 2) - 0.5, 0.0) / math.sqrt(variance) if variance > 0 else 0.0


def _least_p(n: int, m: int) -> float:
    return p_value([0.0 + k for k in range(n)], [1e6 + k for k in range(m)])
