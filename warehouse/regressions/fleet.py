"""Values of dumps by series and night, arranged for comparisons of many nights.

A series is an operator of a model on a device; the series of one model and device are a family. A
value is the logarithm of a dump's figure for an operator. Builds are numbered in the order of their
lineage, the head last.

A night is a recording of a build at a place: a model and backend on a device. Another session of
the same build there is another night, which can confirm the first. Sessions are numbered at each
place by itself, because recorders may name them as they like; the last session of each place is in
the last night of the build. If a reference build was recorded in the same sessions, it is a second
witness of what the device did: values are relative to it unless the state of the device in their
own dumps is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.pools import add_pools
from tracehouse.warehouse.regressions.series_values import (
    CONTAINERS,
    MEASURES,
    PLACE,
    RECORDING,
    SeriesValues,
    cancel_partners,
    decode_texts,
    group_rows,
    list_recordings,
    number_families,
    number_rows,
    number_series,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.device_states import (
    DELEGATE,
    KERNELS,
    MAD_TO_SD,
    NO_KERNEL,
    NO_UNIT,
)
from tracehouse.warehouse.statistics.runs import order_in_runs, places_in_runs, rank_in_groups
from tracehouse.warehouse.statistics.two_samples import LEAST_GAP


class Series(NamedTuple):
    """Properties of each series.

    Attributes:
        family: Number of the family.
        kernel: Number of the kernel in the family: operators with the same kernel have one vote on
            the movement of the device; NO_KERNEL for containers.
        floor: Smallest comparable value, a logarithm.
        half_tick: Half of the clock's smallest step, in the unit of the values.
        min_change: Smallest relevant change, as a share.
        unit: KERNELS or DELEGATE, whose state all operators of a dump share; NO_UNIT if the values
            do not contain the state of the device.
    """

    family: Ints
    kernel: Ints
    floor: Floats
    half_tick: Floats
    min_change: Floats
    unit: Ints


class SeriesHistory(NamedTuple):
    """Values of dumps, by series and then build.

    Attributes:
        series: Properties of the series.
        build_count: Number of builds, including the head.
        values: The values; those of one cell (a series and a build) are adjacent.
        states: State of the device in the dump of each value; 0 if unknown, and in builds that are
            not judged yet.
        reference: What was subtracted from each value for a reference build; NaN without one, and 0
            once the state of the dump turned out to be unknown.
        dump: Number of the dump of each value.
        start: Where the values of each cell begin; shape (series * builds + 1,).
    """

    series: Series
    build_count: int
    values: Floats
    states: Floats
    reference: Floats
    dump: Ints
    start: Ints

    @property
    def series_count(self) -> int:
        """The number of series."""
        return len(self.series.family)

    @property
    def family_count(self) -> int:
        """The number of families."""
        return int(self.series.family.max(initial=-1)) + 1

    def values_in(self, series: int, builds: Ints) -> Floats:
        """The values of a series in some builds."""
        cells = (series * self.build_count + builds).tolist()
        ends = (slice(self.start[cell], self.start[cell + 1]) for cell in cells)
        return np.concatenate([self.values[end] for end in ends])


class Cells(NamedTuple):
    """Summaries of the cells; each of shape (series, builds).

    Attributes:
        dump_count: Dumps.
        median: Median of the values; NaN without any.
        spread: Robust standard deviation of the values; NaN without any.
        is_split: Whether the values, without the extremes, have a gap like that between two modes.
        is_relative: Whether the values are relative to a reference build.
    """

    dump_count: Ints
    median: Floats
    spread: Floats
    is_split: Mask
    is_relative: Mask


def lay_out(  # noqa: PLR0913 - all that a history is made of
    series: Series,
    build_count: int,
    cell: Ints,
    count: Ints,
    values: Floats,
    dump: Ints,
    reference: Floats | None = None,
) -> SeriesHistory:
    """A history of cells in any order.

    Args:
        series: Properties of the series.
        build_count: Number of builds, including the head.
        cell: Each cell with values, once: series * build_count + build.
        count: Number of values of each cell.
        values: Logarithms of the values, cell by cell, in any order within a cell.
        dump: Number of the dump of each value.
        reference: What was subtracted from each value for a reference build, if there is any.
    """
    by_value = order_in_runs(count, values)
    counts = np.zeros(len(series.family) * build_count, np.int64)
    counts[cell] = count
    start = np.concatenate([[0], np.cumsum(counts)])
    place = np.repeat(start[cell], count) + places_in_runs(count)
    ordered, owner = np.empty(len(values)), np.empty(len(values), np.int64)
    ordered[place], owner[place] = values[by_value], dump[by_value]
    pinned = np.full(len(values), np.nan)
    if reference is not None:
        pinned[place] = reference[by_value]
    return SeriesHistory(series, build_count, ordered, np.zeros(len(ordered)), pinned, owner, start)


def summarise_cells(history: SeriesHistory) -> Cells:
    """Count, median and spread of every cell."""
    shape = history.series_count, history.build_count
    count = np.diff(history.start)
    median, spread = np.full(len(count), np.nan), np.full(len(count), np.nan)
    for size in np.unique(count[count > 0]).tolist():
        cells = np.flatnonzero(count == size)
        values = history.values[history.start[cells][:, None] + np.arange(size)]
        median[cells] = (values[:, (size - 1) // 2] + values[:, size // 2]) / 2
        distance = np.sort(np.abs(values - median[cells][:, None]), axis=1)
        spread[cells] = MAD_TO_SD * (distance[:, (size - 1) // 2] + distance[:, size // 2]) / 2
    return Cells(
        count.reshape(shape),
        median.reshape(shape),
        spread.reshape(shape),
        _find_split(history).reshape(shape),
        (count > 0).reshape(shape) & ~_find_alone(history).reshape(shape),
    )


def _find_split(history: SeriesHistory) -> Mask:
    """Whether each cell has a wide gap between values other than its first and last."""
    wide = np.flatnonzero(np.diff(history.values) > LEAST_GAP)  # between `wide` and the next
    cell = np.searchsorted(history.start, wide, side="right") - 1
    inside = (wide > history.start[cell]) & (wide + 2 < history.start[cell + 1])
    is_split = np.zeros(len(history.start) - 1, bool)
    is_split[cell[inside]] = True
    return is_split


def _find_alone(history: SeriesHistory) -> Mask:
    """Whether each cell has values that are not relative to a reference build."""
    is_alone = np.zeros(len(history.start) - 1, bool)
    alone = np.flatnonzero(np.isnan(history.reference))
    is_alone[np.searchsorted(history.start, alone, side="right") - 1] = True
    return is_alone


def find_families(family: Ints, there: Mask) -> Mask:
    """Whether any series of each family has dumps, by build; shape (families, builds)."""
    found = np.zeros((int(family.max(initial=-1)) + 1, there.shape[1]), bool)
    np.logical_or.at(found, family, there)
    return found


def gather_values(history: SeriesHistory, rows: Ints, chosen: Mask, reaction: Floats) -> Floats:
    """Values of some builds of some series, a row per series, filled up with NaN.

    Args:
        history: The values.
        rows: Numbers of the series.
        chosen: The builds of each; shape (rows, builds); builds at the end may be omitted.
        reaction: Factor of the dump's state that is subtracted from each value of a row.
    """
    row, build = np.nonzero(chosen)
    cell = rows[row] * history.build_count + build
    first, count = history.start[cell], history.start[cell + 1] - history.start[cell]
    total = np.bincount(row, count, minlength=len(rows)).astype(np.int64)
    gathered = np.full((len(rows), max(1, int(total.max(initial=0)))), np.nan)
    owner, place = np.repeat(row, count), places_in_runs(total)
    source = np.repeat(first, count) + places_in_runs(count)
    gathered[owner, place] = subtract_states(history, source, reaction[owner])
    return gathered


def subtract_states(
    history: SeriesHistory, places: Ints | slice, reaction: Floats | float
) -> Floats:
    """Some values without the states of the device; with a reaction of 0 as they are.

    The state takes the place of the reference build, which is not as near in time.
    """
    reference = np.where(reaction, np.nan_to_num(history.reference[places]), 0.0)
    found: Floats = history.values[places] + reference - reaction * history.states[places]
    return found


class FleetNight(NamedTuple):
    """One night: a build, and how many sessions a place with all of them recorded afterwards."""

    build: str
    later: int


SessionKey = tuple[str, str, str | None, int]


class Fleet(NamedTuple):
    """Values of all series of a store in the nights up to a build.

    Attributes:
        nights: The nights, oldest first, the head's last.
        sessions: Stated names of sessions, by device, model, backend and number of the night.
        keys: A row per series: device, pool, model, backend, unit, run, event_name,
            delegate_id, ordinal, kind, op_type.
        operators: Operator type of each series; of what is no operator, its name.
        history: Values of the series.
        has_reference: Whether the values are relative to a reference build; shape (series,).
        pool: For each series, the number of its pool's series; see `add_pools`.
    """

    nights: tuple[FleetNight, ...]
    sessions: dict[SessionKey, str]
    keys: pa.Table
    operators: tuple[str, ...]
    history: SeriesHistory
    has_reference: Mask
    pool: Ints

    @property
    def is_measure(self) -> Mask:
        """Whether each series is a measure of whole dumps rather than an operator."""
        is_measure: Mask = pc.is_in(self.keys["kind"], pa.array(sorted(MEASURES))).to_numpy()
        return is_measure

    @property
    def is_pool(self) -> Mask:
        """Whether each series is of a pool."""
        is_pool: Mask = pc.is_null(self.keys["device"]).to_numpy()
        return is_pool

    def name(self, series: int) -> dict[str, Any]:
        """The keys of one series."""
        return {column: self.keys[column][series].as_py() for column in self.keys.column_names}


MinChange = Callable[[pa.Table], Floats]


def build_fleet(
    rows: pa.Table, head: str, min_change: MinChange, nights: tuple[FleetNight, ...] | None = None
) -> Fleet:
    """Lay out the rows of `gather_recordings`.

    Args:
        rows: A row per operator and recording.
        head: The judged build, which has a night even without rows.
        min_change: Returns the smallest relevant change of each series, by its keys.
        nights: Nights of the whole fleet, if these rows are only a part of it.
    """
    nights = nights or order_nights(rows, head)
    night_of, sessions = _number_nights(rows, nights)
    own = number_series(*cancel_partners(rows, night_of), night_of)
    values, pool = add_pools(own, _number_kernels(own))
    family = number_families(values.keys)
    kernel = _number_kernels(values)
    series = Series(
        family, kernel, values.floor, values.half_tick, min_change(values.keys), _find_units(values)
    )
    cell = values.series * len(nights) + values.night
    history = lay_out(
        series, len(nights), cell, values.size, values.logs, values.dump, values.reference
    )
    operators = tuple(values.keys["op_type"].to_pylist())
    return Fleet(nights, sessions, values.keys, operators, history, values.has_reference, pool)


def _number_kernels(values: SeriesValues) -> Ints:
    """A number for each operator type; NO_KERNEL for other series."""
    numbers, _ = number_rows(values.keys.select(["op_type"]))
    has_no_vote = pa.array(sorted(CONTAINERS | MEASURES))
    is_container = pc.is_in(values.keys["kind"], has_no_vote).to_numpy()
    return np.where(is_container, NO_KERNEL, numbers)


def _find_units(values: SeriesValues) -> Ints:
    """The unit that runs each operator; NO_UNIT for pools."""
    kind = values.keys["kind"]
    is_delegate = pc.is_in(kind, pa.array(["delegate_op", "delegate_call"])).to_numpy()
    is_pool = pc.is_null(values.keys["device"]).to_numpy()
    unit = np.where(is_delegate, DELEGATE, KERNELS)
    return np.where(is_pool, NO_UNIT, unit)


def order_nights(rows: pa.Table, head: str) -> tuple[FleetNight, ...]:
    """The nights of rows, oldest first; the head always has a night."""
    recordings = list_recordings(rows)
    distance, later = recordings["distance"].to_pylist(), _count_later(recordings).tolist()
    most: dict[tuple[int, str], int] = {}
    for back, build, count in zip(distance, recordings["build"].to_pylist(), later, strict=True):
        if back is not None:
            most[back, build] = max(count, most.get((back, build), 0))
    nights = tuple(
        FleetNight(build, count)
        for (_, build), sessions in sorted(most.items(), reverse=True)
        for count in range(sessions, -1, -1)
    )
    if head not in {night.build for night in nights}:
        nights = (*nights, FleetNight(head, 0))
    return nights


def _number_nights(
    rows: pa.Table, nights: tuple[FleetNight, ...]
) -> tuple[Ints, dict[SessionKey, str]]:
    """The night of each row, -1 for reference builds; and the stated sessions of the nights."""
    numbers = {night: number for number, night in enumerate(nights)}
    number, first = group_rows(rows.select([*PLACE, *RECORDING]))
    recordings = decode_texts(rows.select([*PLACE, *RECORDING]).take(pa.array(first)))
    names = (recordings[name].to_pylist() for name in ("device", "model", "backend", "session"))
    builds, later = recordings["build"].to_pylist(), _count_later(recordings).tolist()
    found = [numbers.get(FleetNight(*night), -1) for night in zip(builds, later, strict=True)]
    sessions = {
        (device, model, backend, night): session
        for device, model, backend, session, night in zip(*names, found, strict=True)
        if session and night >= 0
    }
    return np.array(found, np.int64)[number], sessions


def _count_later(recordings: pa.Table) -> Ints:
    """The number of later sessions of each recording's build at its place.

    Sessions without a time are the last ones, those of the same time are ordered by name.
    """
    count = np.zeros(len(recordings), np.int64)
    place, _ = group_rows(recordings.select([*PLACE, "build"]))
    repeated = np.flatnonzero(np.bincount(place)[place] > 1)
    if len(repeated):
        own = recordings.take(pa.array(repeated))
        keys = [("recorded_at", "ascending"), ("session", "ascending")]
        rank = np.empty(len(own), np.int64)
        rank[pc.sort_indices(own, sort_keys=keys).to_numpy()] = np.arange(len(own))
        count[repeated] = rank_in_groups(place[repeated], -rank)
    return count
