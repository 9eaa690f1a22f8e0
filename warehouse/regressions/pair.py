"""Two builds, judged: a row for each series of them, in the columns of the query `comparison`."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tracehouse.warehouse.regressions.pair_dumps import DEVICE_MODEL, PairDumps
from tracehouse.warehouse.regressions.pair_figures import (
    POOL,
    PairFigures,
    compare_series,
    pool_devices,
)
from tracehouse.warehouse.regressions.pair_groups import (
    MODULE,
    Modules,
    name_modules,
    sum_modules,
    sum_types,
)
from tracehouse.warehouse.regressions.pair_series import (
    METHOD,
    PairSeries,
    join_series,
    lay_out_pair,
)
from tracehouse.warehouse.regressions.pair_verdicts import (
    CHANGES,
    Limits,
    PairJudgement,
    judge_series,
)
from tracehouse.warehouse.regressions.series_values import group_rows
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict
from tracehouse.warehouse.statistics.arrays import Floats, Mask

_PARTS = {"method": ("kernel", "delegate_call"), "delegate_call": ("delegate_op",)}  # by kind
_MOST_NAMED = 3
_NUMBERED = re.compile(r" #\d+$")
_SHORT = SeriesVerdict.BELOW_RESOLUTION
_UNSEEN = (SeriesVerdict.UNCHANGED, SeriesVerdict.INCONCLUSIVE)

_OPERATOR = ("model", "backend", "run", "event_name", "delegate_id", "ordinal")
ORDER = ("level", "device", "pool", *_OPERATOR)


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
        if _NUMBERED.search(event):  # by its delegate
            return event if ordinal == 1 else f"{event}.{ordinal}"
        return f"{event} #{ordinal}"

    largest = sorted(shares, key=lambda n: -shares[n])[:_MOST_NAMED]
    explaining = [f"{name(n)} {_percent(shares[n])} %" for n in largest if shares[n] > 0]
    possible = [name(n) for n in hiding[:_MOST_NAMED]]
    return Explanation(", ".join(explaining) or None, ", ".join(possible) or None)


def _percent(share: float) -> int:
    """A share in whole percent; a half is rounded up, as in SQL."""
    return math.floor(100 * share + 0.5)


class TwoBuilds(NamedTuple):
    """What is known of two builds besides their values.

    Attributes:
        dumps: Their dumps.
        modules: The modules of operators.
    """

    dumps: PairDumps
    modules: Modules


def judge_pair(
    values: pa.Table, builds: TwoBuilds, limits: Limits, *, with_values: bool = False
) -> pa.Table:
    """The rows of some families, in any order.

    Args:
        values: Rows of the statement `pair_values`, of whole families with all devices of a pool.
        builds: The two builds.
        limits: What changes are judged by.
        with_values: Add `base_values` and `head_values`, the compared values of series that are
            slower or faster.
    """
    dumps, modules = builds
    own = lay_out_pair(values, dumps)
    series = join_series([own, sum_types(own), sum_modules(own, dumps, modules)])
    names = name_modules(series, dumps, modules)
    figures = compare_series(series, dumps)
    pools, of_pools = pool_devices(series, figures)
    series = _append(series, pools)
    names += [None] * len(pools.floor)
    figures = PairFigures._make(np.append(*each) for each in zip(figures, of_pools, strict=True))
    judged = judge_series(series, figures, limits)
    rows = _tabulate(series, figures, judged, names, dumps)
    return _add_values(rows, series, judged) if with_values else rows


def _append(series: PairSeries, pools: PairSeries) -> PairSeries:
    return series._replace(
        keys=pa.concat_tables([series.keys, pools.keys]),
        is_ns=np.append(series.is_ns, pools.is_ns),
        floor=np.append(series.floor, pools.floor),
        half_tick=np.append(series.half_tick, pools.half_tick),
        instruction=np.append(series.instruction, pools.instruction),
        state_shift=np.append(series.state_shift, pools.state_shift),
        reference=[*series.reference, *pools.reference],
    )


def _tabulate(
    series: PairSeries,
    figures: PairFigures,
    judged: PairJudgement,
    modules: list[str | None],
    dumps: PairDumps,
) -> pa.Table:
    keys, is_ns = series.keys, series.is_ns
    families = list(zip(*(keys[name].to_pylist() for name in DEVICE_MODEL), strict=True))
    references = _find_references(families, series.reference)
    levels = np.array(keys["level"].to_pylist(), object)
    is_module = levels == MODULE
    explained = explain_changes(series, figures, judged)
    cost = np.where(is_ns, judged.cost, np.nan)
    delta = np.expm1(figures.shift)
    head = np.where(np.isnan(delta), figures.head_value, figures.base_value * (1 + delta))
    numbers = {
        "base_ns": np.where(is_ns, figures.base_value, np.nan),
        "head_ns": np.where(is_ns, head, np.nan),
        "delta": delta,
        "delta_low": np.expm1(figures.low),
        "delta_high": np.expm1(figures.high),
        "p_adjusted": judged.p_adjusted,
        "minimum_detectable": np.expm1((figures.high - figures.low) / 2),
        "cost_ns": cost,
        "state_delta": np.expm1(series.state_shift),
        "change_share": _share(series, levels == POOL, cost),
    }
    paths = [
        event if has_path else path
        for event, path, has_path in zip(
            keys["event_name"].to_pylist(), modules, is_module.tolist(), strict=True
        )
    ]
    texts = {
        "verdict": [str(verdict) for verdict in judged.verdict],
        "module_path": paths,
        "reference": references,
        "frame": _frames(series, figures, references),
        "explained_by": [
            explained[n].explained_by if n in explained else None for n in range(len(cost))
        ],
        "may_be": [explained[n].may_be if n in explained else None for n in range(len(cost))],
        "note": [dumps.notes.get(family) for family in families],
    }
    integers = {
        "base_count": pa.array(figures.base_count, pa.int64()),
        "head_count": pa.array(figures.head_count, pa.int64()),
        "instruction_id": pa.array(series.instruction, from_pandas=True).cast(pa.int32()),
        "dumps_needed": pa.array(judged.dumps_needed, from_pandas=True).cast(pa.int64()),
        "base_slow": pa.array(figures.base_slow, from_pandas=True).cast(pa.int64()),
        "head_slow": pa.array(figures.head_slow, from_pandas=True).cast(pa.int64()),
    }
    return pa.table(
        {
            **{name: keys[name] for name in (*ORDER, "kind")},
            **integers,
            **{name: pa.array(column, from_pandas=True) for name, column in numbers.items()},
            **{name: pa.array(column, pa.string()) for name, column in texts.items()},
        }
    )


def _add_values(rows: pa.Table, series: PairSeries, judged: PairJudgement) -> pa.Table:
    is_changed = np.array([verdict in CHANGES for verdict in judged.verdict], bool)
    is_known = ~np.isnan(series.values.value) & is_changed[series.values.series]
    values = series.values.take(is_known)
    values = values.take(np.lexsort((values.value, values.series)))
    for name, is_head in (("base_values", False), ("head_values", True)):
        own = values.take(values.is_head == is_head)
        stop = np.searchsorted(own.series, np.arange(len(rows) + 1)).astype(np.int32)
        rows = rows.append_column(name, pa.ListArray.from_arrays(pa.array(stop), own.value))
    return rows


def _find_references(
    families: Sequence[tuple[str | None, ...]], references: Sequence[str | None]
) -> list[str | None]:
    """The reference build of each series' device, model and backend; of several, the last."""
    found: dict[tuple[str | None, ...], str] = {}
    for family, name in zip(families, references, strict=True):
        if name is not None:
            found[family] = max(name, found.get(family, ""))
    return [found.get(family) for family in families]


def _frames(series: PairSeries, figures: PairFigures, references: list[str | None]) -> list[str]:
    has_state = (~np.isnan(series.state_shift)).tolist()
    return [
        "paired" if is_paired else "reference" if reference else "residual" if state else "raw"
        for is_paired, reference, state in zip(
            figures.is_paired.tolist(), references, has_state, strict=True
        )
    ]


def _share(series: PairSeries, is_pool: Mask, cost: Floats) -> Floats:
    """The cost over that of the method; NaN if the method is not known to have changed."""
    keys = series.keys.select([*METHOD, "pool"]).append_column("is_pool", pa.array(is_pool))
    method, first = group_rows(keys)
    is_method = np.array(series.keys["kind"].to_pylist(), object) == "method"
    whole = np.bincount(method, np.where(is_method, np.nan_to_num(cost), 0.0), len(first))[method]
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Floats = np.where(whole != 0, cost / whole, np.nan)
    return share
