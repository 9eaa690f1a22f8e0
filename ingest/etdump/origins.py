"""The reading that the starts of a run's events are stored relative to. Pure.

It is the earliest start, by signed distances from the run's first event. If the clock of a run has
32 bits and passes its limit, distances are modulo 2^32, and readings after the limit are restored
less 2^32. A run that is not so, but would be stored like one that is, gets the origin 0: then its
distances are its readings, of which some are 2^32 or more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints, Mask

UINT32_MAX = np.uint64(2**32 - 1)
_HALF = np.uint64(2**31)


class StartRanges(NamedTuple):
    """The starts of runs with events, one run per row.

    Attributes:
        first: Start of the run's first event.
        lowest: Lowest start relative to it, as a signed number.
        lowest_32: The same modulo 2^32.
        highest: Highest start.
        has_wrap: Whether an event ends before it starts, below 2^32: its 32-bit clock wrapped.
    """

    first: NDArray[np.uint64]
    lowest: Ints
    lowest_32: Ints
    highest: NDArray[np.uint64]
    has_wrap: Mask


class Origins(NamedTuple):
    """The origins of runs.

    Attributes:
        earliest: The earliest start of each run.
        is_modulo: Whether distances are modulo 2^32.
        is_doubtful: Whether the origin is 0 if any event `may_be_first` of a modular run.
    """

    earliest: NDArray[np.uint64]
    is_modulo: Mask
    is_doubtful: Mask


def find_origins(runs: StartRanges) -> Origins:
    """The origins of runs, but for those that are doubtful."""
    is_modulo: Mask = runs.has_wrap & (runs.highest <= UINT32_MAX)
    earliest = runs.first + runs.lowest.view(np.uint64)
    is_doubtful = runs.has_wrap & ~is_modulo & (earliest <= UINT32_MAX)
    is_doubtful &= runs.highest - earliest <= UINT32_MAX
    earliest_32 = (runs.first + runs.lowest_32.view(np.uint64)) & UINT32_MAX
    return Origins(np.where(is_modulo, earliest_32, earliest), is_modulo, is_doubtful)


def may_be_first(
    offset: NDArray[np.uint64], farthest: NDArray[np.uint64] | np.uint64
) -> NDArray[np.bool_]:
    """Whether each event can be the first of a run with distances modulo 2^32, by its own.

    All others are less than 2^31 after it and at most 2^31 before it. `farthest` is the largest
    distance in its run, below 2^32.
    """
    may_be: NDArray[np.bool_] = (offset <= _HALF) & (farthest - offset < _HALF)
    return may_be
