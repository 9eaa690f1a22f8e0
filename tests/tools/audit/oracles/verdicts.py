"""Two builds compared, operator by operator, and operators over many builds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.support.plain_comparison import PlainComparison, adjusted, compare, exact_p
from tests.tools.audit.oracles.places import Asked, Row, builds_in_order, chosen, of_device
from tests.tools.audit.oracles.values import (
    NOT_COMPARED,
    OPERATOR,
    Value,
    compared_values,
    values_of,
)
from tests.tools.audit.recordings import Recording
from tests.tools.audit.statistics import middle

Q, MIN_CHANGE, LEAST_DUMPS, EXACT_UP_TO = 0.01, 0.03, 8, 30


@dataclass
class Pair:
    """One operator in two builds.

    Attributes:
        values: Its values by side: 0 for the base, 1 for the head.
        verdict: What is to be thought of it.
        p_adjusted: Share of false alarms if it were one; None unless tested.
        cost: What its change adds to a run.
    """

    values: tuple[list[Value], list[Value]] = field(default_factory=lambda: ([], []))
    verdict: str = ""
    p_adjusted: float | None = None
    cost: float = 0.0

    @property
    def all(self) -> list[Value]:
        return self.values[0] + self.values[1]

    @property
    def unit(self) -> str:
        return min(value.unit for value in self.all)

    def numbers(self, side: int) -> list[float]:
        """Values of a side, in the unit that is compared."""
        return [v.value for v in self.values[side] if v.value is not None and v.unit == self.unit]

    @property
    def counts(self) -> tuple[int, int]:
        return len(self.numbers(0)), len(self.numbers(1))

    @property
    def levels(self) -> tuple[float | None, float | None]:
        return middle(self.numbers(0)), middle(self.numbers(1))

    @property
    def comparison(self) -> PlainComparison | None:
        return compare(self.numbers(0), self.numbers(1)) if min(self.counts) else None

    @property
    def is_above(self) -> bool:
        """Whether a build reaches what its clock can compare."""
        levels = [level for level in self.levels if level is not None]
        return len(levels) == 2 and max(levels) >= max(value.floor for value in self.all)

    @property
    def step(self) -> float:
        """The change, in the unit."""
        found, (base, head) = self.comparison, self.levels
        if found is None or base is None or head is None:
            return 0.0
        return math.copysign(1 - math.exp(-abs(found.shift)), found.shift) * max(base, head)

    @property
    def half_tick(self) -> float:
        return max(value.half_tick for value in self.all)


def judged_pairs(dumps: Sequence[Recording], asked: Asked) -> dict[Any, list[Pair]]:
    """Operators of two builds with their verdicts, by device and model."""
    numbers = {dump.number for dump in chosen(dumps, asked, "build")}
    pairs: dict[Any, dict[Any, Pair]] = defaultdict(lambda: defaultdict(Pair))
    for value in values_of(dumps):
        build = value.dump.build
        is_asked = value.dump.number in numbers and build in (asked["base"], asked["head"])
        if is_asked and value.kind not in NOT_COMPARED:
            side = int(build == asked["head"])
            pairs[of_device(value.dump)][value.key].values[side].append(value)
    families = {key: list(own.values()) for key, own in pairs.items()}
    for family in families.values():
        _judge(family, asked.get("q", Q), math.log(1 + asked.get("min_change", MIN_CHANGE)))
    return families


def _judge(family: list[Pair], q: float, margin: float) -> None:
    ran = [any(pair.values[side] for pair in family) for side in (0, 1)]
    rivals = [pair for pair in family if pair.is_above]
    tested = [pair for pair in rivals if min(pair.counts) >= LEAST_DUMPS]
    p = adjusted([pair.comparison.p for pair in tested if pair.comparison])
    for pair, share in zip(tested, p, strict=True):
        pair.p_adjusted = share
    for pair in family:
        pair.verdict = _verdict(pair, ran, len(tested), (q, margin))
        pair.cost = _cost(pair)
    _mark_moved(family)


def _verdict(pair: Pair, ran: list[bool], test_count: int, limits: tuple[float, float]) -> str:
    for side, name in enumerate(("new_op", "removed_op")):
        if ran[side] and not pair.values[side]:
            return name
    if min(pair.counts) < LEAST_DUMPS:
        return "needs_more_dumps"
    if pair.p_adjusted is None:
        return "below_resolution"
    if (
        max(pair.counts) <= EXACT_UP_TO
        and exact_p(0, *sorted(pair.counts)) > limits[0] / test_count
    ):
        return "needs_more_dumps"
    return _change(pair, *limits)


def _change(pair: Pair, q: float, margin: float) -> str:
    found = pair.comparison
    assert found is not None
    low, high = found.low, found.high
    if low is None or high is None:
        return "inconclusive"
    if (pair.p_adjusted or 0.0) <= q and abs(pair.step) >= pair.half_tick:
        if low > 0 and found.shift >= margin:
            return "regression"
        if high < 0 and found.shift <= -margin:
            return "improvement"
    return "unchanged" if max(high, -low) <= margin else "inconclusive"


def _cost(pair: Pair) -> float:
    base, head = pair.levels
    if pair.verdict in ("regression", "improvement"):
        return pair.step
    return {"new_op": head or 0.0, "removed_op": -(base or 0.0)}.get(pair.verdict, 0.0)


def _mark_moved(family: list[Pair]) -> None:
    """Regressions that improvements of the same model make up for, to a quarter."""
    if any(pair.all[0].kind == "method" and pair.cost for pair in family):
        return
    parts = [pair for pair in family if pair.all[0].kind != "method"]
    for is_inner in (False, True):
        own = [pair for pair in parts if (pair.all[0].kind == "delegate_op") == is_inner]
        more = sum(max(pair.cost, 0.0) for pair in own)
        less = sum(max(-pair.cost, 0.0) for pair in own)
        for pair in own:
            is_change = pair.verdict in ("regression", "improvement")
            if is_change and abs(more - less) <= min(more, less) / 4:
                pair.verdict = "moved"


def regression_deltas(dumps: Sequence[Recording], asked: Asked) -> list[Row]:
    families = judged_pairs(dumps, asked)
    return [_row(pair) for family in families.values() for pair in family]


def _row(pair: Pair) -> Row:
    found, is_ns = pair.comparison, pair.unit == "ns"
    low, high = (found.low, found.high) if found else (None, None)
    heads = [value.event.instruction for value in pair.values[1]]
    pools = {value.dump.fact("device", "pool") for value in pair.all}
    return pair.all[0].operator | {
        "base_count": pair.counts[0],
        "head_count": pair.counts[1],
        "base_ns": pair.levels[0] if is_ns else None,
        "head_ns": pair.levels[1] if is_ns else None,
        "delta": math.expm1(found.shift) if found else None,
        "delta_low": None if low is None else math.expm1(low),
        "delta_high": None if high is None else math.expm1(high),
        "p_adjusted": pair.p_adjusted,
        "minimum_detectable": None if low is None or high is None else math.expm1((high - low) / 2),
        "verdict": pair.verdict,
        "instruction_id": min((one for one in heads if one is not None), default=None),
        "module_path": None,
        "kind": pair.all[0].kind,
        "pool": pools.pop() if len(pools) == 1 else None,
        "cost_ns": pair.cost if is_ns else None,
    }


def comparison(dumps: Sequence[Recording], asked: Asked) -> list[Row]:
    """Rows of methods, delegates and operators; those of what is added up are not worked out."""
    rows = []
    for family in judged_pairs(dumps, asked).values():
        method = sum(p.cost for p in family if p.all[0].kind == "method" and p.unit == "ns")
        for pair in family:
            kind = pair.all[0].kind
            level = {"method": "method", "delegate_call": "delegate"}.get(kind, "operator")
            share = pair.cost / method if method and pair.unit == "ns" else None
            rows.append(_row(pair) | {"level": level, "change_share": share})
    return rows


def run_shifts(dumps: Sequence[Recording], asked: Asked) -> list[Row]:
    own = [d for d in chosen(dumps, asked, "build") if d.build in (asked["base"], asked["head"])]
    numbers = {dump.number for dump in own}
    families: dict[Any, tuple[list[Recording], list[Recording]]] = defaultdict(lambda: ([], []))
    for dump in own:
        families[of_device(dump)][dump.build == asked["head"]].append(dump)
    values = [v for v in values_of(dumps) if v.dump.number in numbers and v.value is not None]
    rows = []
    for key, sides in families.items():
        if all(sides):
            mine = [value for value in values if of_device(value.dump) == key]
            where = dict(zip(("device", "model", "backend"), key, strict=True))
            counts = {"base_count": len(sides[0]), "head_count": len(sides[1])}
            rows.append(where | counts | _shift(mine, asked["head"]))
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


def change_points(dumps: Sequence[Recording], asked: Asked) -> list[Row]:
    series: dict[Any, list[Value]] = defaultdict(list)
    for value in compared_values(dumps, asked):
        series[value.key, value.unit].append(value)
    order = builds_in_order(dumps)
    return [
        _change_point(own, order, asked.get("min_change", MIN_CHANGE)) for own in series.values()
    ]


LEAST_Z = 4.891638  # of a two-sided p of 1e-6


def _change_point(values: list[Value], order: list[str], min_change: float) -> Row:
    builds = sorted({v.dump.build for v in values}, key=order.index)
    logs = {
        b: [math.log(max(v.value or 0.0, 1.0)) for v in values if v.dump.build == b] for b in builds
    }
    best: tuple[float, int] | None = None
    reach = 0.0
    for back in range(2, min(8, len(builds) - 1) + 1):
        first = len(builds) - back
        before = [y for b in builds[max(first - 10, 0) : first] for y in logs[b]]
        after = [y for b in builds[first:] for y in logs[b]]
        reach = max(reach, _greatest_z(len(before), len(after)))
        z = _z(before, after)
        if best is None or z > best[0]:
            best = z, first
    row = {name: values[0].operator[name] for name in OPERATOR} | {
        "build_count": len(builds), "dump_count": len(values), "unit": values[0].unit,
    }  # fmt: skip
    return row | _described(values, builds, (best, reach), min_change)


def _described(
    values: list[Value], builds: list[str], best: tuple[tuple[float, int] | None, float],
    min_change: float,
) -> Row:  # fmt: skip
    names = ("first_bad", "last_good", "before", "after", "now", "delta", "p")
    nothing: Row = dict.fromkeys(names)
    if best[0] is None:
        return nothing | {"verdict": "insufficient_data"}
    (z, first), reach = best
    sides = [_values(values, builds[max(first - 10, 0) : first]), _values(values, builds[first:])]
    now = _values(values, builds[-2:])
    logs = [[math.log(max(v, 1.0)) for v in side] for side in (*sides, now)]
    shift = median(a - b for b in logs[0] for a in logs[1]) if z >= LEAST_Z else None
    if reach < LEAST_Z:
        verdict = "insufficient_data"
    elif median(sides[0]) < median(v.floor for v in values):
        verdict = "below_resolution"
    else:
        verdict = _since(shift, median(logs[2]) - median(logs[0]), min_change)
    row = nothing | {
        "verdict": verdict,
        "delta": None if shift is None else math.expm1(shift),
        "p": math.erfc(z / math.sqrt(2)),
    }
    if verdict in ("gone", "regression", "improvement"):
        row |= {"first_bad": builds[first], "last_good": builds[first - 1], "now": median(now),
                "before": median(sides[0]), "after": median(sides[1])}  # fmt: skip
    return row


def _since(shift: float | None, shift_now: float, min_change: float) -> str:
    if shift is None or abs(math.expm1(shift)) < min_change:
        return "unchanged"
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


def _greatest_z(n: int, m: int) -> float:
    return (n * m - 1) / math.sqrt(n * m * (n + m + 1) / 3)
