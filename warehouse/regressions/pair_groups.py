"""Series of several operators of two builds as one: those of a type, and those in a module. Pure.

So operators that are too small to compare alone are compared together. The value of a dump is the
sum over its operators; a dump counts if all of them have a value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.pair_dumps import NO_RECORD, PairDumps
from tracehouse.warehouse.regressions.pair_series import METHOD, PairSeries, PairValues, greatest
from tracehouse.warehouse.regressions.series_values import group_rows
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.runs import find_starts, places_in_runs

OPERATOR_TYPE, MODULE = "operator_type", "module"
_TYPED = ("kernel", "delegate_op")  # kinds whose operators have types
_OPERATOR = ("run", "event_name", "delegate_id", "ordinal")

Paths = dict[tuple[object, ...], list[str]]  # by ETRecord and operator


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
        key = (row["etrecord_id"], *(row[name] for name in _OPERATOR))
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
    names = list(zip(*(series.keys[name].to_pylist() for name in _OPERATOR), strict=True))
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
    start = find_starts([group, values.dump])[: len(group)]  # of nothing, none
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
