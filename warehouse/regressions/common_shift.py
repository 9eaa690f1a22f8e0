"""How far all operators of a family moved together: the state of the device, not the code. Pure.

Every kernel has one vote, weighed by how well its best operator is known; the shift is the weighted
median of the votes. With fewer than six kernels it is taken as none: one kernel's regression would
be explained away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.history import NO_KERNEL, Series

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_KERNELS = 6
_WITH_IT = 0.2  # of a shift, from which a kernel went with it
_LEAST_ERROR = 0.01
_MEDIAN_ERROR = 1.2533  # of a median, in standard deviations over sqrt(n)


class Voters(NamedTuple):
    """Series that vote, ordered by kernel.

    Attributes:
        series: Their numbers.
        kernel: Number of each one's kernel, counted over all families.
        family: Family of each kernel.
    """

    series: Ints
    kernel: Ints
    family: Ints


def find_voters(series: Series) -> Voters:
    """Those series that are kernels of their own."""
    votes = np.flatnonzero(series.kernel != NO_KERNEL)
    keys = np.stack([series.family[votes], series.kernel[votes]], axis=1)
    kernels, kernel = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(kernel.ravel(), kind="stable")
    return Voters(votes[order], kernel.ravel()[order], kernels[:, 0])


def common_shift(
    voters: Voters, moved: Floats, spread: Floats, dump_count: Floats, family_count: int
) -> Floats:
    """The shift of each family in a build.

    Args:
        voters: What `find_voters` gave.
        moved: How far each series is from its base, a logarithm; NaN if unknown.
        spread: Standard deviation between the dumps of each series.
        dump_count: Dumps of one build of each series.
        family_count: Families there are.
    """
    known = ~np.isnan(moved[voters.series])
    chosen, kernel = voters.series[known], voters.kernel[known]
    error = _MEDIAN_ERROR * spread[chosen] / np.sqrt(np.maximum(dump_count[chosen], 1))
    weight = 1 / np.maximum(np.nan_to_num(error, nan=_LEAST_ERROR), _LEAST_ERROR) ** 2
    kernels, vote, certainty = _vote(kernel, moved[chosen], weight)
    family = voters.family[kernels]
    shift = _weighted_median(family, vote, certainty, family_count)
    enough = np.bincount(family, minlength=family_count) >= LEAST_KERNELS
    return np.where(enough, shift, 0.0)


def share_together(voters: Voters, moved: Floats, shift: Floats) -> Floats:
    """The share of the kernels of each family that went with its shift, in its direction.

    Args:
        voters: What `find_voters` gave.
        moved: How far each series is from its base, a logarithm; NaN if unknown.
        shift: The shift of each family.
    """
    known = ~np.isnan(moved[voters.series])
    chosen, kernel = voters.series[known], voters.kernel[known]
    kernels, vote, _ = _vote(kernel, moved[chosen], np.ones(len(chosen)))
    family = voters.family[kernels]
    went = vote * np.sign(shift[family]) >= _WITH_IT * np.abs(shift[family])
    together, count = (np.bincount(family, each, minlength=len(shift)) for each in (went, None))
    share: Floats = together / np.maximum(count, 1)
    return share


def _vote(kernel: Ints, moved: Floats, weight: Floats) -> tuple[Ints, Floats, Floats]:
    """Kernels, the median of each one's operators, and the largest of their weights."""
    if len(kernel) == 0:
        return kernel, moved, weight
    order = np.lexsort((moved, kernel))
    kernel, moved, weight = kernel[order], moved[order], weight[order]
    first = np.flatnonzero(np.diff(kernel, prepend=-1))
    count = np.diff(first, append=len(kernel))
    vote = (moved[first + (count - 1) // 2] + moved[first + count // 2]) / 2
    return kernel[first], vote, np.maximum.reduceat(weight, first)


def _weighted_median(group: Ints, value: Floats, weight: Floats, group_count: int) -> Floats:
    order = np.lexsort((value, group))
    group, value, weight = group[order], value[order], weight[order]
    total = np.bincount(group, weight, minlength=group_count)
    before = np.concatenate([[0.0], np.cumsum(total)])[:-1]
    reached = np.cumsum(weight) - before[group] >= total[group] / 2 * (1 - 1e-12)
    median = np.zeros(group_count)
    chosen = np.flatnonzero(reached)[::-1]  # the first of a group is written last
    median[group[chosen]] = value[chosen]
    return median
