"""What a store holds of a build and of those before it, laid out to be judged night by night.

A night is a recording of a build: one recorded again in another session is another night, so that
it can confirm what the first showed. Where a reference build was recorded in the same sessions, the
values are taken relative to it: what the device did to both cancels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest.signatures import operator_type
from warehouse.regressions.history import NO_KERNEL, Series, SeriesHistory, find_families, lay_out

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONTAINERS = frozenset({"method", "delegate_call"})
_FAMILY = ("device", "pool", "model", "backend", "unit")
_OPERATOR = ("event_name", "delegate_id", "ordinal", "kind")
_KEY = (*_FAMILY, *_OPERATOR)
_MOST_CODES = 1 << 40


class FleetNight(NamedTuple):
    """One night: a build, and the session it was recorded in ('' if unstated)."""

    build: str
    session: str


class Fleet(NamedTuple):
    """Values of all series of a store in the nights up to a build.

    Attributes:
        nights: Oldest first, the head's last.
        keys: A row per series: device, pool, model, backend, unit, event_name,
            delegate_id, ordinal, kind.
        operators: Operator type of each.
        history: Their values.
        has_reference: Whether the values are relative to a reference build; shape (series,).
    """

    nights: tuple[FleetNight, ...]
    keys: pa.Table
    operators: tuple[str, ...]
    history: SeriesHistory
    has_reference: NDArray[np.bool_]

    def name(self, series: int) -> dict[str, Any]:
        """The keys of one series."""
        return {column: self.keys[column][series].as_py() for column in self.keys.column_names}


class _SeriesValues(NamedTuple):
    """Values of series, those of one night side by side and in ascending order."""

    keys: pa.Table
    series: Ints
    night: Ints
    size: Ints
    logs: Floats
    floor: Floats
    half_tick: Floats
    has_reference: NDArray[np.bool_]


MinChange = Callable[[pa.Table], Floats]


def build_fleet(rows: pa.Table, head: str, min_change: MinChange) -> Fleet:
    """Lay out the rows of the statement fleet_values.

    Args:
        rows: A row per operator and recording.
        head: The build in question: it has a night even if it has no rows.
        min_change: Gives the smallest change that counts of each series, by its keys.
    """
    nights, night_of = _order_nights(rows, head)
    values = _number_series(rows, night_of)
    operators = _operator_types(values.keys)
    family = _number_rows(values.keys.select(_FAMILY))[0]
    kinds = values.keys["kind"].to_pylist()
    numbers = {name: number for number, name in enumerate(sorted(set(operators)))}
    kernel = np.array(
        [
            NO_KERNEL if kind in CONTAINERS or is_relative else numbers[name]
            for kind, name, is_relative in zip(
                kinds, operators, values.has_reference.tolist(), strict=True
            )
        ],
        np.int64,
    )
    series = Series(family, kernel, values.floor, values.half_tick, min_change(values.keys))
    cell = values.series * len(nights) + values.night
    history = lay_out(series, len(nights), cell, values.size, values.logs)
    return Fleet(nights, values.keys, operators, history, values.has_reference)


def find_rebuilt(history: SeriesHistory) -> set[tuple[int, int]]:
    """Families and the nights in which they have not the operators that they had before."""
    shape = history.series_count, history.build_count
    there = np.diff(history.start).reshape(shape) > 0
    family_there = find_families(history.series.family, there)
    rebuilt: set[tuple[int, int]] = set()
    before = np.full(history.family_count, -1)
    for night in range(there.shape[1]):
        last = before[history.series.family]
        changed = (there[:, night] != there[np.arange(len(there)), last]) & (last >= 0)
        changed &= family_there[history.series.family, night]
        rebuilt.update((family, night) for family in history.series.family[changed].tolist())
        before[family_there[:, night]] = night
    return rebuilt


def _operator_types(keys: pa.Table) -> tuple[str, ...]:
    names = (keys[name].to_pylist() for name in ("event_name", "delegate_id", "kind"))
    return tuple(operator_type(*parts) for parts in zip(*names, strict=True))


def _order_nights(rows: pa.Table, head: str) -> tuple[tuple[FleetNight, ...], Ints]:
    """The nights, and that of each row; -1 for rows of a reference build."""
    own = rows.filter(pc.is_valid(rows["distance"]))
    found = own.group_by(["distance", "build", "session", "recorded_at"]).aggregate([])
    places = sorted(
        zip(*(found[name].to_pylist() for name in found.column_names), strict=True),
        key=lambda row: (-row[0], row[3] is None, row[3] or 0, row[2]),
    )
    nights = tuple(FleetNight(build, session) for _, build, session, _ in places)
    if head not in {night.build for night in nights}:
        nights = (*nights, FleetNight(head, ""))
    numbers = {night: number for number, night in enumerate(nights)}
    number, first = _number_rows(rows.select(["build", "session"]))
    named = rows.select(["build", "session"]).take(pa.array(first)).to_pylist()
    of_pair = [numbers.get(FleetNight(**pair), -1) for pair in named]
    return nights, np.array(of_pair, np.int64)[number]


def _number_rows(table: pa.Table) -> tuple[Ints, Ints]:
    """A number for each row, the same for equal ones and in their order; the first of each."""
    number, limit = np.zeros(len(table), np.int64), 1
    for name in table.column_names:
        column = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        limit *= len(column.dictionary)
        if limit > _MOST_CODES:
            known, number = np.unique(number, return_inverse=True)
            limit = len(known) * len(column.dictionary)
        number = number * len(column.dictionary) + codes
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    order = pc.sort_indices(
        table.take(pa.array(first)), sort_keys=[(name, "ascending") for name in table.column_names]
    ).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[number.ravel()], first[order]


def _number_series(rows: pa.Table, night: Ints) -> _SeriesValues:
    number, first = _number_rows(rows.select(_KEY))
    lists = rows["logs"].combine_chunks()
    size = np.diff(lists.offsets.to_numpy())
    logs = lists.flatten().to_numpy(zero_copy_only=False)
    level = _reference_levels(rows, number, night)
    is_relative = np.zeros(len(first), bool)
    is_relative[number[~np.isnan(level)]] = True
    kept = (night >= 0) & ~(np.isnan(level) & is_relative[number])
    logs = logs - np.repeat(np.nan_to_num(level), size) if is_relative.any() else logs
    return _SeriesValues(
        rows.select(_KEY).take(pa.array(first)),
        number[kept],
        night[kept],
        size[kept],
        logs[np.repeat(kept, size)],
        np.log(_most(rows["floor"].to_numpy(), number, len(first))),
        _most(rows["half_tick"].to_numpy(), number, len(first)),
        is_relative,
    )


def _reference_levels(rows: pa.Table, number: Ints, night: Ints) -> Floats:
    """How far the reference was from its usual level in the session of each row; NaN without one.

    Usual is the median over the sessions in which the series was recorded with it.
    """
    level = np.full(len(rows), np.nan)
    references = np.flatnonzero(night < 0)
    if not len(references):
        return level
    pinned = rows["build"].take(pa.array(references))
    references = references[pc.sort_indices(pinned).to_numpy()]  # of several, the last one counts
    sessions = rows["session"].to_pylist()
    logs = rows["logs"].take(pa.array(references)).to_pylist()
    found = {
        (int(number[row]), sessions[row]): float(np.median(values))
        for row, values in zip(references.tolist(), logs, strict=True)
    }
    usual = defaultdict(list)
    for row in np.flatnonzero(night >= 0).tolist():
        key = int(number[row]), sessions[row]
        if key in found:
            level[row] = found[key]
            usual[key[0]].append(found[key])
    for row in np.flatnonzero(~np.isnan(level)).tolist():
        level[row] -= np.median(usual[int(number[row])])
    return level


def _most(values: Floats, group: Ints, count: int) -> Floats:
    most = np.zeros(count)
    np.maximum.at(most, group, values)
    return most
