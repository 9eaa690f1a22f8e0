"""How far builds have been from their bases so far: what a change must stand out from. Pure.

Nothing is assumed of how builds vary: whatever made them differ (the placement of code, the
temperature, nights that resemble the one before) is in the errors that were made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warehouse.statistics.two_samples import row_median

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_IN_A_ROW = 3
_NIGHTS = 32
_FAMILY_NIGHTS = 8  # that the family's median counts like
_MOST_OF_MEDIAN = 4.0
_MEAN_TO_SD = 1.2533  # of the absolute values of normal errors


class Errors:
    """Errors of the nights so far in one frame: of single builds, and of several in a row."""

    def __init__(self, series_count: int, build_count: int) -> None:
        self._made = np.full((MOST_IN_A_ROW, series_count, build_count), np.nan)

    def add(self, build: int, errors: Floats) -> None:
        """Keep those of a build; NaN where there are none."""
        self._made[0, :, build] = errors
        for count in range(2, min(MOST_IN_A_ROW, build + 1) + 1):
            last = self._made[0, :, build - count + 1 : build + 1]
            self._made[count - 1, :, build] = last.mean(axis=1)

    def forget(self, series: int, builds: slice) -> None:
        """Leave out those that were no errors but a change."""
        self._made[:, series, builds] = np.nan

    def of_one(self, build: int, family: Ints) -> Floats:
        """Standard deviation of the errors before a build, drawn towards that of the family.

        NaN where the whole family has none.
        """
        return _size(self._made[0, :, max(0, build - _NIGHTS) : build], family)

    def in_a_row(self, build: int, family: Ints) -> Floats:
        """The same of the means of 1, 2, ... errors in a row; shape (MOST_IN_A_ROW, series).

        Where there were no such rows yet, they are taken to be independent.
        """
        one = self.of_one(build, family)
        rows = [one]
        for count in range(2, MOST_IN_A_ROW + 1):
            made = self._made[count - 1, :, max(0, build - _NIGHTS) : build]
            size = _size(made, family)
            rows.append(np.where(np.isnan(size), one / np.sqrt(count), size))
        return np.stack(rows)


def _size(made: Floats, family: Ints) -> Floats:
    sizes = np.abs(made)
    count = np.count_nonzero(~np.isnan(made), axis=1)
    middle = row_median(sizes)
    common = _group_median(middle, family)[family]
    limit = _MOST_OF_MEDIAN * np.fmax(middle, common)  # a change that nobody saw is no error
    with np.errstate(invalid="ignore", divide="ignore"):
        own = _MEAN_TO_SD * np.nansum(np.minimum(sizes, limit[:, None]), axis=1) / count
    common = _group_median(own, family)[family]
    weighed = np.where(count > 0, count * own**2, 0) + _FAMILY_NIGHTS * common**2
    size: Floats = np.sqrt(weighed / (count + _FAMILY_NIGHTS))
    return size


def _group_median(values: Floats, group: Ints) -> Floats:
    count = int(group.max(initial=-1)) + 1
    order = np.lexsort((values, group))
    known = order[~np.isnan(values[order])]
    size = np.bincount(group[known], minlength=count)
    first = np.cumsum(size) - size
    padded = np.append(values[known], np.nan)
    low = np.where(size > 0, first + np.maximum(size - 1, 0) // 2, len(known))
    high = np.where(size > 0, first + size // 2, len(known))
    median: Floats = (padded[low] + padded[high]) / 2
    return median
