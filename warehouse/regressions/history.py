"""Values of dumps by series and build, laid out for many nights of comparison. Pure.

A series is an operator of a model on a device; those of one model and device are a family. Builds
are numbered in the order of their lineage, the head last. A value is the logarithm of what a dump
says of an operator.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.statistics.two_samples import LEAST_GAP

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_KERNEL = -1
_MAD_TO_SD = 1.4826


class Series(NamedTuple):
    """What is known of each series.

    Attributes:
        family: Number of its family.
        kernel: Number of its kernel in the family: operators that share one have one vote on
            how the device moved; NO_KERNEL for what only holds others.
        floor: Least value that can be compared, a logarithm.
        half_tick: Half of what its clock tells apart, in the unit of the values.
        min_change: Smallest change that counts, as a share.
    """

    family: Ints
    kernel: Ints
    floor: Floats
    half_tick: Floats
    min_change: Floats


class SeriesHistory(NamedTuple):
    """Values of dumps, by series and then build.

    Attributes:
        series: What is known of the series.
        build_count: Builds, the head included.
        values: The values, those of one cell (a series and a build) side by side.
        start: Where the values of each cell begin; shape (series * builds + 1,).
    """

    series: Series
    build_count: int
    values: Floats
    start: Ints

    @property
    def series_count(self) -> int:
        """How many series there are."""
        return len(self.series.family)

    @property
    def family_count(self) -> int:
        """How many families there are."""
        return int(self.series.family.max(initial=-1)) + 1


class Cells(NamedTuple):
    """Summaries of the cells; each of shape (series, builds).

    Attributes:
        dump_count: Dumps.
        median: Median of their values; NaN without any.
        spread: Their robust standard deviation; NaN without any.
        is_split: Whether they have a gap as between two modes, the ends left out.
    """

    dump_count: Ints
    median: Floats
    spread: Floats
    is_split: Mask


def lay_out(series: Series, build_count: int, where: Ints, values: Floats) -> SeriesHistory:
    """A history of values in any order.

    Args:
        series: What is known of the series.
        build_count: Builds, the head included.
        where: The cell of each value: series * build_count + build.
        values: Logarithms of the values.
    """
    order = np.lexsort((values, where))
    count = np.bincount(where, minlength=len(series.family) * build_count)
    start = np.concatenate([[0], np.cumsum(count)])
    return SeriesHistory(series, build_count, values[order], start)


def summarise_cells(history: SeriesHistory) -> Cells:
    """Count, median and spread of every cell; its values must be in ascending order."""
    shape = history.series_count, history.build_count
    count = np.diff(history.start)
    median = _middle(history.values, history.start)
    cell = np.repeat(np.arange(len(count)), count)
    distance = np.abs(history.values - median[cell])
    spread = _MAD_TO_SD * _middle(distance[np.lexsort((distance, cell))], history.start)
    return Cells(
        count.reshape(shape),
        median.reshape(shape),
        spread.reshape(shape),
        _find_split(history).reshape(shape),
    )


def _find_split(history: SeriesHistory) -> Mask:
    """Whether two neighbours in a cell, neither its first nor its last, are far apart."""
    wide = np.flatnonzero(np.diff(history.values) > LEAST_GAP)  # between `wide` and the next
    cell = np.searchsorted(history.start, wide, side="right") - 1
    inside = (wide > history.start[cell]) & (wide + 2 < history.start[cell + 1])
    is_split = np.zeros(len(history.start) - 1, bool)
    is_split[cell[inside]] = True
    return is_split


def _middle(values: Floats, start: Ints) -> Floats:
    count = np.diff(start)
    padded = np.append(values, np.nan)
    low = start[:-1] + np.maximum(count - 1, 0) // 2
    high = start[:-1] + count // 2
    high = np.where(count > 0, high, len(values))
    low = np.where(count > 0, low, len(values))
    middle: Floats = (padded[low] + padded[high]) / 2
    return middle


def gather_values(history: SeriesHistory, rows: Ints, chosen: Mask, offset: Floats) -> Floats:
    """Values of some builds of some series, a row per series, filled up with NaN.

    Args:
        history: The values.
        rows: Numbers of the series.
        chosen: Which builds of each; shape (rows, builds), builds left out at the end allowed.
        offset: What is taken from the values of each build; shape like `chosen`.
    """
    row, build = np.nonzero(chosen)
    cell = rows[row] * history.build_count + build
    first, count = history.start[cell], history.start[cell + 1] - history.start[cell]
    total = np.bincount(row, count, minlength=len(rows)).astype(np.int64)
    gathered = np.full((len(rows), max(1, int(total.max(initial=0)))), np.nan)
    item = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    owner = np.repeat(row, count)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(total) - total, total)
    gathered[owner, place] = history.values[np.repeat(first, count) + item] - np.repeat(
        offset[row, build], count
    )
    return gathered
