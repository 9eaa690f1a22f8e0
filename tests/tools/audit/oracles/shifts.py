"""Steps of operators over many builds, and all operators of a device together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tests.tools.audit.oracles.places import Params, Row, builds_in_order, two_builds
from tests.tools.audit.oracles.values import NOT_COMPARED, Value, values_of
from tests.tools.audit.recordings import Recording

MIN_CHANGE, LEAST_BUILDS = 0.03, 2


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
    """The steps of series that are steady otherwise, by their medians alone."""
    order = builds_in_order(dumps)
    order = order[: order.index(params.get("head", order[-1])) + 1]
    series: dict[Any, dict[str, list[Value]]] = defaultdict(lambda: defaultdict(list))
    for value in values_of(dumps):
        is_known = value.value is not None and value.kind not in NOT_COMPARED
        if is_known and value.dump.build in order:
            series[value.key, value.unit][value.dump.build].append(value)
    return [row for own in series.values() for row in _steps(own, order)]


def _steps(values: dict[str, list[Value]], order: list[str]) -> Iterator[Row]:
    builds = [build for build in order if build in values]
    logs = [[math.log(value.value or 0.0) for value in values[build]] for build in builds]
    levels, base, ended = [median(own) for own in logs], [0, 1], 0
    for place in range(LEAST_BUILDS, len(builds)):
        if place < ended:
            continue
        old = median(levels[night] for night in base)
        moved = levels[place] - old
        if len(base) < LEAST_BUILDS or abs(moved) < math.log1p(MIN_CHANGE):
            base.append(place)
            continue
        is_back = [abs(level - old) < abs(moved) / 2 for level in levels]
        ended = next((n for n in range(place, len(builds) - 1) if all(is_back[n : n + 2])), 0)
        is_confirmed = place + 1 < len(builds)
        word = "regression" if moved > 0 else "improvement"
        first = values[builds[place]][0]
        yield first.operator | {
            "pool": first.dump.fact("device", "pool"), "unit": first.unit,
            "verdict": word if is_confirmed else f"suspect_{word}",
            "first_bad": builds[place], "last_good": builds[place - 1],
            "confirmed_in": builds[place + 1] if is_confirmed else None,
            "fixed_in": builds[ended] if ended else None,
            "before": math.exp(median(y for night in base for y in logs[night])),
        }  # fmt: skip
        base = base if ended else [place]
