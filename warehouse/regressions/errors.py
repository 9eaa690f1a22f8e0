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
_MOST_OF_MEDIAN = 8.0
_DOUBT = 2.0  # nights: with n of them, the size is taken to be larger by that over n


class Errors:
    """Errors of the nights so far in one frame: of single builds, and of several in a row."""

    def __init__(self, family: Ints, build_count: int) -> None:
        self._made = np.full((MOST_IN_A_ROW, len(family), build_count), np.nan)
        self._family, self._kin = family, _Kin(family)

    def add(self, build: int, errors: Floats) -> None:
        """Keep those of a build; NaN where there are none."""
        self._made[0, :, build] = errors
        for count in range(2, min(MOST_IN_A_ROW, build + 1) + 1):
            last = self._made[0, :, build - count + 1 : build + 1]
            self._made[count - 1, :, build] = last.mean(axis=1)

    def forget(self, series: int, builds: slice) -> None:
        """Leave out those that were no errors but a change."""
        self._made[:, series, builds] = np.nan

    def size(self, build: int) -> Floats:
        """Standard deviation of the errors before a build, drawn towards that of the family.

        NaN where the whole family has none.
        """
        made = self._made[0, :, max(0, build - _NIGHTS) : build]
        own = self._kin.sizes(made)
        count = np.count_nonzero(~np.isnan(made), axis=1)
        common = self._kin.median(own)
        weighed = np.where(count > 0, count * own**2, 0) + _FAMILY_NIGHTS * common**2
        doubt = 1 + _DOUBT / np.maximum(count, 1)
        size: Floats = doubt * np.sqrt(weighed / (count + _FAMILY_NIGHTS))
        return size

    def size_in_a_row(self, build: int, one: Floats, series: Ints) -> Floats:
        """The same of the means of 1, 2, ... errors in a row; shape (MOST_IN_A_ROW, len(series)).

        How much smaller those are is the family's to say: a series alone has seen too few rows.
        Where there were none yet, errors are taken to be independent. `one` is `size`.
        """
        families = np.unique(self._family[series])
        chosen = np.flatnonzero(np.isin(self._family, families))
        kin = _Kin(np.searchsorted(families, self._family[chosen]))
        made = self._made[:, chosen, max(0, build - _NIGHTS) : build]
        single, place = kin.sizes(made[0]), np.searchsorted(chosen, series)
        rows = [one[series]]
        for count in range(2, MOST_IN_A_ROW + 1):
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = kin.median(kin.sizes(made[count - 1]) / single)[place]
            rows.append(rows[0] * np.where(np.isfinite(ratio), ratio, 1 / np.sqrt(count)))
        return np.stack(rows)


class _Kin:
    """The families of some series, and what all of one have in common."""

    def __init__(self, family: Ints) -> None:
        self._family, self._members = family, _list_members(family)

    def sizes(self, made: Floats) -> Floats:
        """Root mean square of each series' errors."""
        sizes = np.abs(made)
        count = np.count_nonzero(~np.isnan(made), axis=1)
        middle = row_median(sizes)
        # A change that nobody saw is no error.
        limit = _MOST_OF_MEDIAN * np.fmax(middle, self.median(middle))
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = np.minimum(sizes, limit[:, None]) ** 2
            own: Floats = np.sqrt(np.nansum(squares, axis=1) / count)
        return own

    def median(self, values: Floats) -> Floats:
        """The median of each series' family."""
        median: Floats = row_median(np.append(values, np.nan)[self._members])[self._family]
        return median


def _list_members(family: Ints) -> Ints:
    """The series of each family, filled up with the number after the last series."""
    count = np.bincount(family)
    order = np.argsort(family, kind="stable")
    place = np.arange(len(family)) - np.repeat(np.cumsum(count) - count, count)
    members = np.full((len(count), int(count.max(initial=0))), len(family))
    members[family[order], place] = order
    return members
