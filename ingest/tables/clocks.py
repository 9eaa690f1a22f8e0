"""Offsets and durations from clock readings, with wrap-around. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ingest.etdump.arena import Ints, Mask

WRAPPED_32 = 1  # end before start on a 32-bit clock: 2^32 was added
END_BEFORE_START = 2  # end before start without a 32-bit wrap: an impossible duration
TOO_LONG = 4  # 2^63 ticks or more: an impossible duration

_WRONG = END_BEFORE_START | TOO_LONG
_UINT32_MAX = np.uint64(2**32 - 1)


def is_wrong(flags: NDArray[np.int32]) -> Mask:
    """Whether each duration is impossible. Such events are stored, but never summed or ranked."""
    wrong: Mask = (flags & _WRONG) != 0
    return wrong


def flag_durations(
    start: NDArray[np.uint64], end: NDArray[np.uint64], *, zero_is_no_end: bool = False
) -> tuple[Ints, NDArray[np.int32]]:
    """Durations in ticks, and their flags.

    With `zero_is_no_end`, an end of 0 is a missing reading, otherwise one after a wrap.

    Returns:
        End minus start modulo 2^64 as int64, plus 2^32 if both fit into 32 bits and end is before
        start; and per duration 0 or the flags above.
    """
    duration = (end - start).view(np.int64)
    flags = np.zeros(len(start), np.int32)
    backward = end < start
    if backward.any():
        wraps = backward & (start <= _UINT32_MAX)
        if zero_is_no_end:
            wraps &= end > 0
        duration = np.where(wraps, duration + 2**32, duration)
        flags[wraps] = WRAPPED_32
        flags[backward & ~wraps] = END_BEFORE_START
    flags[~backward & (duration < 0)] = TOO_LONG
    return duration, flags


def unwrap_starts(
    start: NDArray[np.uint64], counts: Ints, flags: NDArray[np.int32]
) -> tuple[Ints, NDArray[np.uint64]]:
    """Starts relative to the earliest start of their run.

    Returns:
        Start minus the run's earliest start as int64, and the earliest start per run (0 for a run
        without events). Both are modulo 2^64, or modulo 2^32 if the run has a `WRAPPED_32` event
        and all its starts fit into 32 bits. "Earliest" is relative to the run's first event, so
        that events stay in order if the clock wraps within the run.
    """
    filled = np.flatnonzero(counts)
    begin = (np.cumsum(counts) - counts)[filled]
    earliest = np.zeros(len(counts), np.uint64)
    if not len(filled):
        return np.zeros(0, np.int64), earliest
    wraps = np.bitwise_or.reduceat(flags, begin) & WRAPPED_32 != 0
    if wraps.any():
        wraps &= np.maximum.reduceat(start, begin) <= _UINT32_MAX
    first = start[begin]
    relative = (start - np.repeat(first, counts[filled])).view(np.int64)
    if wraps.any():
        of_events = np.repeat(wraps, counts[filled])
        relative = np.where(of_events, relative.astype(np.int32), relative)
    lowest = np.minimum.reduceat(relative, begin)
    earliest[filled] = first + lowest.view(np.uint64)
    earliest[filled[wraps]] &= _UINT32_MAX
    return relative - np.repeat(lowest, counts[filled]), earliest


def offsets_from(origin: np.uint64, start: NDArray[np.uint64], *, wraps: bool) -> Ints:
    """Starts relative to the earliest start of a run, as `unwrap_starts` gives them.

    Args:
        origin: The earliest start.
        start: Starts of some of the run's events.
        wraps: Whether starts of the run are modulo 2^32.
    """
    offsets = start - origin
    return (offsets & _UINT32_MAX if wraps else offsets).view(np.int64)
