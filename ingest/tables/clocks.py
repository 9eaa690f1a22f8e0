"""Offsets and durations from clock readings, with wrap-around. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints, Mask
from tracehouse.ingest.etdump.dumps import UINT32_MAX, find_origins, may_be_first

WRAPPED_32 = 1  # end before start on a 32-bit clock: 2^32 was added
END_BEFORE_START = 2  # end before start without a 32-bit wrap: an impossible duration
TOO_LONG = 4  # 2^63 ticks or more: an impossible duration

_WRONG = END_BEFORE_START | TOO_LONG


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
        wraps = backward & (start <= UINT32_MAX)
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
    """Starts relative to the origin of their run, and the origin per run; see `find_origins`.

    Returns:
        Start minus the run's origin as int64, modulo 2^64, or modulo 2^32 if the clock of the run
        has 32 bits and wrapped; and the origin (0 for a run without events).
    """
    filled = np.flatnonzero(counts)
    begin, size = (np.cumsum(counts) - counts)[filled], counts[filled]
    origins = np.zeros(len(counts), np.uint64)
    if not len(filled):
        return np.zeros(0, np.int64), origins
    has_wrap = np.bitwise_or.reduceat(flags, begin) & WRAPPED_32 != 0
    first = start[begin]
    relative = (start - np.repeat(first, size)).view(np.int64)
    lowest = np.minimum.reduceat(relative, begin)
    if not has_wrap.any():  # as in nearly all dumps
        origins[filled] = first + lowest.view(np.uint64)
        return relative - np.repeat(lowest, size), origins
    lowest_32 = np.minimum.reduceat(relative.astype(np.int32).astype(np.int64), begin)
    highest = np.maximum.reduceat(start, begin)
    found = find_origins(first, lowest, lowest_32=lowest_32, highest=highest, has_wrap=has_wrap)
    of_runs = found.earliest
    if found.is_doubtful.any():
        farthest = np.repeat(highest - of_runs, size)
        may_be = may_be_first(start - np.repeat(of_runs, size), farthest)
        of_runs[found.is_doubtful & np.logical_or.reduceat(may_be, begin)] = 0
    origins[filled] = of_runs
    offsets = start - np.repeat(of_runs, size)
    is_modulo = np.repeat(found.is_modulo, size)
    return np.where(is_modulo, offsets & UINT32_MAX, offsets).view(np.int64), origins


def restore_starts(
    run: NDArray[np.int32], origin: NDArray[np.uint64], offset: Ints, flags: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """The readings that `unwrap_starts` was given, from what is stored.

    Args:
        run: The run of each event.
        origin: The origin of each run.
        offset: Start of each event relative to it.
        flags: Flags of each event's duration.
    """
    distance = offset.view(np.uint64)
    start = origin[run] + distance
    wrapped = run[(flags & WRAPPED_32) != 0]
    if not len(wrapped):
        return start
    is_wrapped, may_be = np.zeros(len(origin), bool), np.zeros(len(origin), bool)
    is_wrapped[wrapped] = True
    farthest = np.zeros(len(origin), np.uint64)
    np.maximum.at(farthest, run, distance)
    is_wrapped &= (origin <= UINT32_MAX) & (farthest <= UINT32_MAX)
    may_be[run[may_be_first(distance, farthest[run])]] = True
    return np.where((is_wrapped & may_be)[run], start & UINT32_MAX, start)


def offsets_from(origin: np.uint64, start: NDArray[np.uint64], *, wraps: bool) -> Ints:
    """Starts relative to the origin of a run, as `unwrap_starts` gives them.

    Args:
        origin: The origin.
        start: Starts of some of the run's events.
        wraps: Whether starts of the run are modulo 2^32.
    """
    offsets = start - origin
    return (offsets & UINT32_MAX if wraps else offsets).view(np.int64)
