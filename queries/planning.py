"""How many dumps of a build are needed to see a change of a given size. Pure.

The noise is estimated from the stored dumps, each minus the median of its build. Base and head are
assumed to have equally many dumps with this noise, the head's slower by the change. They are tested
as regression_deltas does (exact Mann-Whitney test, normal above 30 dumps), and the change must be
significant as the only one among all operators of the model. How often it is follows from the mean
and the variance of U.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.runs import find_starts
from tracehouse.warehouse.statistics.two_samples import LEAST_DUMPS, exact_null_table

MOST_DUMPS = 200  # considered
_MOST_EXACT = 30
_FALSE_ALARMS = 0.01  # q of regression_deltas
_POWER = NormalDist().inv_cdf(0.9)
_SIZES = np.arange(LEAST_DUMPS, MOST_DUMPS + 1)
_FAMILY = ("device", "model", "backend", "run")
_OPERATOR = (*_FAMILY, "event_name", "delegate_id", "ordinal", "unit")
_COUNTS = ("dump_count", "operator_count", "dumps_for_method", "dumps_for_half", "dumps_for_most")

_REMEDIES = {  # remedy of each column of variance_components, the cheapest first
    "with_dumps": "dumps",
    "with_pairs": "pairs",
    "with_sessions": "sessions",
    "with_pool": "pool",
}
_ADVICE = [
    ("smallest_change_share", pa.float64()),
    ("remedy", pa.string()),
    ("change_with_remedy_share", pa.float64()),
]

PLAN = pa.schema(
    [(name, pa.string()) for name in _FAMILY]
    + [(name, pa.int64()) for name in _COUNTS]
    + [("visible_share", pa.float64())]
)


class _Operator(NamedTuple):
    """An operator of a model on a device.

    Attributes:
        family: Names of device, model, backend and run.
        kind: Kind of its events.
        noise: Its dumps in log time, minus the medians of their builds.
        dump_count: Dumps of a build; the median over builds.
    """

    family: tuple[str | None, ...]
    kind: str
    noise: Floats
    dump_count: float


def plan_dumps(values: pa.Table, *, change: float) -> pa.Table:
    """Dumps of each build that are needed to show a change in nine of ten cases.

    Args:
        values: Rows of the query dump_values, in its order.
        change: The change as a share: 0.05 for 5 % slower.

    Returns:
        A row per device, model, backend and run, in the order of the values: dump_count, the
        present dumps of a build (the median over builds and operators); operator_count, operators
        that are not too short for their clock; the dumps needed for Method::execute
        (dumps_for_method), for half of the operators (dumps_for_half) and for nine of ten
        (dumps_for_most), null if more than MOST_DUMPS or with fewer than 8 dumps to estimate the
        noise; visible_share, the share of operators for which dump_count dumps are enough, 0 to 1.
    """
    if not values.num_rows:
        return PLAN.empty_table()
    families = groupby(_operators(values), key=attrgetter("family"))
    shift = math.log1p(change)
    rows = [_plan_family(list(operators), shift) for _, operators in families]
    return pa.Table.from_pylist(rows, PLAN)


def advise(plan: pa.Table, components: pa.Table, *, change: float) -> pa.Table:
    """The plan with advice how to show a change of a model's method, by its sources of noise.

    The rows are those of `plan_dumps` and of the query variance_components, of the same dumps.

    Returns:
        The plan with three more columns: smallest_change_share, the smallest change that can be
        found now; remedy, the first of dumps, pairs, sessions and pool with which the change would
        be found, or the nearest one (null if the change can be found now, or nothing is known);
        change_with_remedy_share, the smallest change that can be found that way.
    """
    methods = {
        tuple(row[name] for name in _FAMILY[1:]): row
        for row in reversed(components.to_pylist())
        if row["kind"] == "method"
    }
    advice = []
    for row in plan.select(_FAMILY[1:]).to_pylist():
        known = methods.get(tuple(row.values()), {})
        values = (known.get("detectable"), *_find_help(known, change))
        advice.append(dict(zip((name for name, _ in _ADVICE), values, strict=True)))
    added = pa.Table.from_pylist(advice, pa.schema(_ADVICE))
    for name, _ in _ADVICE:
        plan = plan.append_column(name, added[name])
    return plan


def _find_help(known: Mapping[str, Any], change: float) -> tuple[str | None, float | None]:
    now = known.get("detectable")
    shown = {name: known[name] for name in _REMEDIES if known.get(name) is not None}
    if not shown or (now is not None and now <= change):
        return None, None
    enough = (name for name, found in shown.items() if found <= change)
    name = next(enough, min(shown, key=lambda one: float(shown[one])))
    return _REMEDIES[name], shown[name]


def _operators(values: pa.Table) -> Iterator[_Operator]:
    """The operators that are not too short for their clock."""
    y = np.log(np.maximum(values["value"].to_numpy(), 1))
    series, build = _numbers(values, _OPERATOR), _numbers(values, (*_OPERATOR, "build"))
    y = y[np.lexsort((y, build))]
    builds, firsts = find_starts([build]), find_starts([series])
    counts = np.diff(builds, append=len(y))
    noise = _noise(y, builds, counts)
    names = values.select([*_FAMILY, "kind", "floor"]).take(pa.array(firsts)).to_pylist()
    ends = np.append(firsts[1:], len(y))
    of_builds = np.searchsorted(builds, firsts), np.searchsorted(builds, ends)
    for name, first, end, low, high in zip(names, firsts, ends, *of_builds, strict=True):
        if np.median(y[first:end]) >= math.log(name["floor"]):
            known = noise[first:end]
            yield _Operator(
                family=tuple(name[column] for column in _FAMILY),
                kind=name["kind"],
                noise=np.sort(known[~np.isnan(known)]),
                dump_count=float(np.median(counts[low:high])),
            )


def _noise(y: Floats, builds: Ints, counts: Ints) -> Floats:
    """Values, which ascend in each build, minus the build's median; NaN for a single value.

    They are widened, as a median is nearer to the values it was computed from than to others.
    """
    middle = (y[builds + (counts - 1) // 2] + y[builds + counts // 2]) / 2
    wider = np.sqrt(counts / np.maximum(counts - 1, 1))
    wider[counts == 1] = np.nan
    noise: Floats = (y - np.repeat(middle, counts)) * np.repeat(wider, counts)
    return noise


def _numbers(values: pa.Table, columns: Sequence[str]) -> Ints:
    """Numbers of consecutive groups of rows that are equal in these columns, from 0."""
    codes = [
        values[column].combine_chunks().dictionary_encode("encode").indices.to_numpy()
        for column in columns
    ]
    first = find_starts(codes)
    return np.repeat(np.arange(len(first)), np.diff(first, append=values.num_rows))


def _plan_family(operators: Sequence[_Operator], shift: float) -> dict[str, object]:
    lost = _most_lost(_FALSE_ALARMS / len(operators))
    needed = np.array([_dumps_needed(operator.noise, shift, lost) for operator in operators])
    methods = [
        n for n, operator in zip(needed, operators, strict=True) if operator.kind == "method"
    ]
    dump_count = float(np.median([operator.dump_count for operator in operators]))
    return {
        **dict(zip(_FAMILY, operators[0].family, strict=True)),
        "dump_count": int(dump_count),
        "operator_count": len(operators),
        "dumps_for_method": _int_or_none(max(methods, default=np.inf)),
        "dumps_for_half": _int_or_none(_enough_for(0.5, needed)),
        "dumps_for_most": _int_or_none(_enough_for(0.9, needed)),
        "visible_share": float(np.mean(needed <= dump_count)),
    }


def _enough_for(share: float, needed: Floats) -> float:
    """Dumps that are enough for this share of the operators."""
    return float(np.sort(needed)[math.ceil(share * len(needed)) - 1])


def _int_or_none(dumps: float) -> int | None:
    return int(dumps) if math.isfinite(dumps) else None


def _dumps_needed(noise: Floats, shift: float, most_lost: Floats) -> float:
    """The smallest of _SIZES that is enough, or infinity; the noise ascends.

    A pair of a base dump and a head dump is lost if the head dump is not the slower one.
    """
    others = len(noise) - 1
    if others < LEAST_DUMPS - 1:
        return math.inf
    # A dump also wins against itself, which does not count.
    of_base = 1 - _count_below(noise, noise - shift) / others
    of_head = (_count_below(noise, noise + shift) - 1) / others
    won = float(of_head.mean())
    spread = float(of_base.var() + of_head.var())
    deviation = _SIZES * np.sqrt(won * (1 - won) + (_SIZES - 1) * spread)
    enough = np.flatnonzero(_SIZES**2 * (1 - won) + _POWER * deviation <= most_lost)
    return float(_SIZES[enough[0]]) if len(enough) else math.inf


def _count_below(noise: Floats, values: Floats) -> Floats:
    """How many values of the noise are below each value; equal ones count half."""
    below: Ints = np.searchsorted(noise, values, "left")
    return (below + np.searchsorted(noise, values, "right")) / 2


@cache
def _most_lost(alpha: float) -> Floats:
    """Most lost pairs of samples of each of _SIZES for p <= alpha; -1 if none may be lost."""
    z = NormalDist().inv_cdf(1 - alpha / 2)
    most: Floats = _SIZES**2 / 2 - 0.5 - z * _SIZES * np.sqrt((2 * _SIZES + 1) / 12)
    most[_SIZES <= _MOST_EXACT] = -1
    exact = exact_null_table(_MOST_EXACT)
    n, u, p = (exact[name].to_numpy() for name in ("n_small", "u", "p"))
    rare = (n == exact["n_large"].to_numpy()) & (p <= alpha) & (n >= LEAST_DUMPS)
    np.maximum.at(most, n[rare] - LEAST_DUMPS, u[rare].astype(float))
    return most
