"""Values of dumps by series and build, arranged for comparisons of many nights. Pure.

A series is an operator of a model on a device; the series of one model and device are a family.
Builds are numbered in the order of their lineage, the head last. A value is the logarithm of a
dump's figure for an operator.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.device_states import MAD_TO_SD
from tracehouse.warehouse.statistics.runs import order_in_runs, places_in_runs
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
