"""Two builds compared, operator by operator."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.plain_comparison import PlainComparison, adjusted, compare, exact_p
from tests.tools.audit.events import operator_type
from tests.tools.audit.oracles.places import Params, Row, chosen, is_named, of_device
from tests.tools.audit.oracles.values import NOT_COMPARED, OPERATOR, Value, values_of
from tests.tools.audit.recordings import Recording
from tests.tools.audit.statistics import middle, whole_sum

Q, MIN_CHANGE, LEAST_DUMPS, EXACT_UP_TO = 0.01, 0.03, 8, 30


@dataclass(frozen=True)
class Total:
    """What one dump says of all operators of a type, as a `Value` says it of one."""

    dump: Recording
    name: str
    kind: str
    parts: tuple[Value, ...]

    @property
    def unit(self) -> str:
        return self.parts[0].unit

    @property
    def value(self) -> float | None:
        return whole_sum(part.value for part in self.parts)

    @property
    def floor(self) -> float:
        return max(part.floor for part in self.parts)

    @property
    def half_tick(self) -> float:
        return max(part.half_tick for part in self.parts)

    @property
    def operator(self) -> Row:
        key = (*of_device(self.dump), self.name, None, 1)
        return dict(zip(OPERATOR, key, strict=True)) | {"run": self.parts[0].series}

    @property
    def instruction(self) -> None:
        return None


@dataclass
class Pair:
    """One operator in two builds.

    Attributes:
        values: Its values by side: 0 for the base, 1 for the head.
        verdict: What is to be thought of it.
        p_adjusted: Share of false alarms if it were one; None unless tested.
        cost: What its change adds to a run.
    """

    values: tuple[list[Value | Total], list[Value | Total]] = field(
        default_factory=lambda: ([], [])
    )
    verdict: str = ""
    p_adjusted: float | None = None
    cost: float = 0.0

    @property
    def all(self) -> list[Value | Total]:
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
        least = max(value.half_tick for value in self.all)  # shorter times count as that
        base, head = ([max(one, least) for one in self.numbers(side)] for side in (0, 1))
        return compare(base, head) if base and head else None

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
    def after(self) -> float | None:
        """The base's time after the change; without one, that of the head."""
        found, (base, head) = self.comparison, self.levels
        return head if found is None or base is None else base * math.exp(found.shift)

    @property
    def half_tick(self) -> float:
        return max(value.half_tick for value in self.all)


Families = dict[Any, list[Pair]]


def _compared(dumps: Sequence[Recording], params: Params) -> list[Value]:
    """What the dumps of both builds say, of what is compared."""
    numbers = {dump.number for dump in chosen(dumps, params, "build")}
    return [
        value
        for value in values_of(dumps)
        if value.dump.number in numbers
        and value.dump.build in (params["base"], params["head"])
        and value.kind not in NOT_COMPARED
        and is_named(value.series, params.get("run"))
    ]


def operator_pairs(dumps: Sequence[Recording], params: Params) -> Families:
    """Operators of two builds with their verdicts, by device, model and run."""
    return _judged({(value.key, value): value for value in _compared(dumps, params)}, params)


def type_pairs(dumps: Sequence[Recording], params: Params) -> Families:
    """Types of operators likewise, those that a dump has two or more operators of."""
    parts: dict[Any, list[Value]] = defaultdict(list)
    for value in _compared(dumps, params):
        if value.kind in ("kernel", "delegate_op"):
            key = (*of_device(value.dump), operator_type(value.event), value.kind, value.series)
            parts[key, value.dump.number].append(value)
    several = {key for (key, _), own in parts.items() if len(own) > 1}
    totals = {}
    for (key, number), own in parts.items():
        if key in several and len({value.unit for value in own}) == 1:
            totals[key, number] = Total(own[0].dump, key[3], key[4], tuple(own))
    return _judged(totals, params)


def _judged(values: Mapping[Any, Value | Total], params: Params) -> Families:
    pairs: dict[Any, dict[Any, Pair]] = defaultdict(lambda: defaultdict(Pair))
    for (key, _), value in values.items():
        side = int(value.dump.build == params["head"])
        pairs[(*of_device(value.dump), key[-1])][key].values[side].append(value)
    families = {key: list(own.values()) for key, own in pairs.items()}
    for family in families.values():
        _judge(
            family, params.get("q", Q), math.log(1 + params.get("min_change", MIN_CHANGE)) - 1e-12
        )
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
        return (pair.after or 0.0) - (base or 0.0)
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


def regression_deltas(dumps: Sequence[Recording], params: Params) -> list[Row]:
    pools = _pools(dumps, params)
    families = operator_pairs(dumps, params)
    return [_row(pair, pools) for family in families.values() for pair in family]


def _pools(dumps: Sequence[Recording], params: Params) -> dict[Any, set[str]]:
    """The pools that the dumps of both builds of a model on a device are of."""
    pools: dict[Any, set[str]] = defaultdict(set)
    for dump in chosen(dumps, params, "build"):
        pool = dump.fact("device", "pool")
        if dump.build in (params["base"], params["head"]) and pool is not None:
            pools[of_device(dump)].add(pool)
    return pools


def _row(pair: Pair, pools: Mapping[Any, set[str]]) -> Row:
    found, is_ns = pair.comparison, pair.unit == "ns"
    low, high = (found.low, found.high) if found else (None, None)
    heads = [value.instruction for value in pair.values[1]]
    own_pools = pools.get(of_device(pair.all[0].dump), set())
    return pair.all[0].operator | {
        "base_count": pair.counts[0],
        "head_count": pair.counts[1],
        "base_ns": pair.levels[0] if is_ns else None,
        "head_ns": pair.after if is_ns else None,
        "delta": math.expm1(found.shift) if found else None,
        "delta_low": None if low is None else math.expm1(low),
        "delta_high": None if high is None else math.expm1(high),
        "p_adjusted": pair.p_adjusted,
        "minimum_detectable": None if low is None or high is None else math.expm1((high - low) / 2),
        "verdict": pair.verdict,
        "frame": "raw",  # no farm of the audit has builds apart, references or pairs
        "state_delta": None,
        "reference": None,
        "instruction_id": min((one for one in heads if one is not None), default=None),
        "module_path": None,
        "kind": pair.all[0].kind,
        "pool": min(own_pools) if len(own_pools) == 1 else None,
        "cost_ns": pair.cost if is_ns else None,
    }


def comparison(dumps: Sequence[Recording], params: Params) -> list[Row]:
    """Rows of methods, delegates, operators and their types; modules need ETRecords."""
    rows, types = [], type_pairs(dumps, params)
    pools = _pools(dumps, params)
    for key, family in operator_pairs(dumps, params).items():
        method = sum(p.cost for p in family if p.all[0].kind == "method" and p.unit == "ns")
        for pair in family:
            kind = pair.all[0].kind
            level = {"method": "method", "delegate_call": "delegate"}.get(kind, "operator")
            rows.append(_row(pair, pools) | {"level": level, "change_share": _share(pair, method)})
        for pair in types.get(key, ()):
            share = _share(pair, method)
            rows.append(_row(pair, pools) | {"level": "operator_type", "change_share": share})
    return rows


def _share(pair: Pair, method: float) -> float | None:
    return pair.cost / method if method and pair.unit == "ns" else None
