"""Two builds, judged: a row for each series of them, in the columns of the query `comparison`.

Operators of a type, or in a module, are a series, too, so that operators that are too small to
compare alone are compared together. The value of a dump is the sum over its operators; a dump
counts if all of them have a value.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.changes import SeriesVerdict
from tracehouse.warehouse.regressions.pair_series import (
    DEVICE_MODEL,
    METHOD,
    NO_RECORD,
    PairDumps,
    PairSeries,
    PairValues,
    greatest,
    join_series,
    lay_out_pair,
)
from tracehouse.warehouse.regressions.pair_verdicts import (
    CHANGES,
    POOL,
    Limits,
    PairFigures,
    PairJudgement,
    compare_series,
    judge_series,
    pool_devices,
)
from tracehouse.warehouse.regressions.series_values import group_rows
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.runs import find_starts, places_in_runs

OPERATOR_TYPE, MODULE = "operator_type", "module"
_TYPED = ("kernel", "delegate_op")  # kinds whose operators have types
_OPERATOR_KEYS = ("run", "event_name", "delegate_id", "ordinal")
Paths = dict[tuple[object, ...], list[str]]  # by ETRecord and operator
_PARTS = {"method": ("kernel", "delegate_call"), "delegate_call": ("delegate_op",)}  # by kind
_MOST_NAMED = 3
_NUMBERED = re.compile(r" #\d+$")
_SHORT = SeriesVerdict.BELOW_RESOLUTION
_UNSEEN = (SeriesVerdict.UNCHANGED, SeriesVerdict.INCONCLUSIVE)
_OPERATOR = ("model", "backend", "run", "event_name", "delegate_id", "ordinal")
ORDER = ("level", "device", "pool", *_OPERATOR)


class Modules(NamedTuple):
    """The modules of operators.

    Attributes:
        own: Modules whose own nodes an operator runs.
        whole: Modules that an operator is inside of.
    """

    own: Paths
    whole: Paths


class _Records(NamedTuple):
    """The programs with ETRecords that values are of.

    Attributes:
        value: Places of the values.
        program: The program of each, a number for each series and ETRecord.
        series: The series of each program.
        paths: Its modules.
    """

    value: Ints
    program: Ints
    series: Ints
    paths: list[list[str]]


def read_modules(rows: Iterable[Mapping[str, Any]]) -> Modules:
    """The modules of rows of the statement `pair_modules`."""
    modules = Modules(defaultdict(list), defaultdict(list))
    for row in rows:
        key = (row["etrecord_id"], *(row[name] for name in _OPERATOR_KEYS))
        for is_there, found in zip((row["is_own"], row["is_total"]), modules, strict=True):
            if is_there:
                found[key].append(row["module_path"])
    return modules


def name_modules(series: PairSeries, dumps: PairDumps, modules: Modules) -> list[str | None]:
    """The module whose own nodes each series runs in the head; None if several, or unknown."""
    found: list[set[str]] = [set() for _ in series.floor]
    records = _find_records(series, np.flatnonzero(series.values.is_head), dumps, modules.own)
    for row, paths in zip(records.series.tolist(), records.paths, strict=True):
        found[row].update(paths)
    return [paths.pop() if len(paths) == 1 else None for paths in found]


def _find_records(series: PairSeries, chosen: Ints, dumps: PairDumps, modules: Paths) -> _Records:
    record = dumps.etrecord[series.values.dump[chosen]]
    chosen, record = chosen[record != NO_RECORD], record[record != NO_RECORD]
    pairs = np.stack([series.values.series[chosen], record])
    programs, number = np.unique(pairs, axis=1, return_inverse=True)
    names = list(zip(*(series.keys[name].to_pylist() for name in _OPERATOR_KEYS), strict=True))
    paths = [sorted(modules.get((own, *names[row]), ())) for row, own in programs.T.tolist()]
    return _Records(chosen, number.ravel(), programs[0], paths)


def sum_types(series: PairSeries) -> PairSeries:
    """The series of operator types of which a dump has two operators or more."""
    number, first = group_rows(series.keys.select([*METHOD, "kind", "op_type"]))
    is_typed = pc.is_in(series.keys["kind"], pa.array(_TYPED)).to_numpy()
    member = np.flatnonzero(is_typed[series.values.series])
    group = number[series.values.series[member]]
    cells, count = np.unique(series.values.dump[member] * len(first) + group, return_counts=True)
    is_shared = np.isin(group, cells[count > 1] % len(first))
    keys = _describe(series.keys.take(pa.array(first)), OPERATOR_TYPE)
    return _sum(series, member[is_shared], group[is_shared], keys)


def sum_modules(series: PairSeries, dumps: PairDumps, modules: Modules) -> PairSeries:
    """The series of modules; none without ETRecords."""
    records = _find_records(series, np.arange(len(series.values.series)), dumps, modules.whole)
    method, first = group_rows(series.keys.select(METHOD))
    groups: dict[tuple[int, str], int] = {}
    of_program = [
        [groups.setdefault((own, path), len(groups)) for path in paths]
        for own, paths in zip(method[records.series].tolist(), records.paths, strict=True)
    ]
    size = np.array([len(own) for own in of_program], np.int64)
    joined = np.array([group for own in of_program for group in own], np.int64)
    count = size[records.program]
    start = (np.cumsum(size) - size)[records.program]
    group = joined[np.repeat(start, count) + places_in_runs(count)]
    keys = series.keys.take(pa.array(first[[own for own, _ in groups]]))
    keys = _put(keys, "op_type", pa.array([path for _, path in groups], pa.string()))
    keys = _put(keys, "kind", pa.array([MODULE] * len(keys), pa.string()))
    return _sum(series, np.repeat(records.value, count), group, _describe(keys, MODULE))


def _describe(keys: pa.Table, level: str) -> pa.Table:
    """Keys of sums, from those of one of their operators; they are named after their type."""
    count = len(keys)
    keys = _put(keys, "level", pa.array([level] * count, pa.string()))
    keys = _put(keys, "event_name", keys["op_type"])
    keys = _put(keys, "delegate_id", pa.nulls(count, pa.string()))
    return _put(keys, "ordinal", pa.array(np.ones(count)).cast(keys.schema.field("ordinal").type))


def _put(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)


def _sum(series: PairSeries, member: Ints, group: Ints, keys: pa.Table) -> PairSeries:
    """The sums of values by group and dump, without dumps whose operators differ in their unit.

    Args:
        series: The series.
        member: Places of the values; a value may be in several groups.
        group: The group of each, a row of `keys`; groups without any are left out.
        keys: Keys of the groups.
    """
    values = series.values.take(member)
    order = np.lexsort((values.value, values.dump, group))
    values, group = values.take(order), group[order]
    start = find_starts([group, values.dump])[: len(group)]  # no starts without values
    stop = np.append(start[1:], len(group))
    ns = np.cumsum(np.append(0, series.is_ns[values.series]))
    ns_count = ns[stop] - ns[start]
    is_alike = (ns_count == 0) | (ns_count == stop - start)
    total = np.add.reduceat(values.value, start)[is_alike] if len(start) else np.empty(0)
    start, is_ns = start[is_alike], ns_count[is_alike] > 0
    kept, sums = np.unique(group[start], return_inverse=True)
    is_kept = np.isin(group, kept)
    own, of_group = values.series[is_kept], np.searchsorted(kept, group[is_kept])
    count = len(kept)
    floor, half_tick = (
        greatest(each[own], of_group, count) for each in (series.floor, series.half_tick)
    )
    has_ns = np.bincount(sums, is_ns, count) > 0
    value = np.where(has_ns[sums] == is_ns, total, np.nan)
    log = np.log(np.maximum(value, half_tick[sums]))
    summed = PairValues(sums, values.dump[start], values.is_head[start], value, log)
    shift = _farthest(series.state_shift[own], of_group, count)
    nothing = np.full(count, np.nan)
    names = [None] * count
    return PairSeries(
        keys.take(pa.array(kept)), has_ns, floor, half_tick, nothing, shift, names, summed
    )


def _farthest(values: Floats, group: Ints, count: int) -> Floats:
    """The value of each group that is farthest from 0; NaN without any."""
    high = greatest(values, group, count)
    low = -greatest(-values, group, count)
    return np.where(-low > high, low, high)


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
