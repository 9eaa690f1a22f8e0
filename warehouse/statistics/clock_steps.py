"""The step of each clock of a dump, estimated from the durations that it timed. Pure.

A clock counts in steps that may be coarser than the unit of its ticks: whole microseconds in
nanoseconds, or a counter of 24 MHz, whose steps of 41.67 ns are rounded to 41 or 42. All durations
by the clock are multiples of its step, to a tick at most. The shortest and the longest duration of
each operator are evidence of that, unless they are equal: operators whose time never varies may be
simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.runs import find_starts, places_in_runs

RUNTIME, DELEGATE = 0, 1  # clocks of a dump
CLOCKS = 2
ROUNDED_STEP = 16.0  # ticks; durations by clocks of longer steps may be rounded to whole ticks
MOST_READINGS = 1_024  # by one clock of a dump: the least ones tell most

TIMED_KINDS = {
    RUNTIME: ("method", "load", "operator_call", "kernel", "delegate_call", "control"),
    DELEGATE: ("delegate_op",),
}  # kinds of events that a clock timed, if they have no unit of their own
_CHANCE = 500.0  # a step is not believed if one in so many clocks without any looked like it
_MOST_STEPS = 200  # steps in the shortest duration: shorter steps do not matter
_LEAST_EXACT = 6  # readings whose greatest common divisor is the step
_POWERS = 10 ** np.arange(19)
_LEAST_ROUNDED = 8  # readings: fewer may all be multiples of twice the step
_TRIED = 32  # readings; after them no wrong step is left
_WIDEST_GAP = 8.0  # between readings; multiples are ambiguous beyond


class Readings(NamedTuple):
    """The shortest and the longest duration of operators, in any order.

    Attributes:
        clock: Number of the clock, per reading.
        ticks: The duration.
        varies: Whether it is of an operator that took different times in the dump.
    """

    clock: Ints
    ticks: Ints
    varies: Mask


def find_timers(signatures: pa.Table) -> Ints:
    """The clock that timed the events of each signature, or `CLOCKS` if none is known to have."""
    timed_by = {kind: clock for clock, kinds in TIMED_KINDS.items() for kind in kinds}
    kinds, units = (signatures[name].to_pylist() for name in ("kind", "unit"))
    timers = [
        timed_by.get(kind, CLOCKS) if unit is None else CLOCKS
        for kind, unit in zip(kinds, units, strict=True)
    ]
    return np.array(timers, np.int64)


def estimate_steps(
    readings: Readings, clock_count: int, divide_all: Callable[[Ints], Ints]
) -> Floats:
    """The step of each clock in ticks: 1 unless its readings are evidence of more.

    Of n different readings all are multiples of a step s by chance about once in s^(n-1).

    Args:
        readings: What the clocks read.
        clock_count: Number of clocks.
        divide_all: The greatest common divisor of all durations by each of some clocks, which
            divides those of the readings.
    """
    steps = np.ones(clock_count)
    clock, ticks, varies = _distinct(readings)
    if not len(clock):
        return steps
    first = find_starts([clock])
    count = np.add.reduceat(varies.astype(np.int64), first)
    may_be = _is_believed(np.gcd.reduceat(ticks, first), count, _CHANCE)
    if may_be.any():
        known = clock[first][may_be]
        divisor = _likely_steps(divide_all(known), count[may_be])
        is_step = _is_believed(divisor, count[may_be], _CHANCE)
        steps[known[is_step]] = divisor[is_step]
    rest = varies & (ticks > 1) & (steps[clock] == 1)
    _estimate_rounded(steps, clock[rest], ticks[rest].astype(np.float64))
    return steps


def _likely_steps(divisor: Ints, count: Ints) -> Ints:
    """The steps of clocks, given the greatest common divisors of their readings.

    Few readings may all be multiples of several steps, so that only the power of ten is likely.
    """
    is_divided = divisor[:, None] % _POWERS == 0
    tens = _POWERS[np.count_nonzero(is_divided, axis=1) - 1]
    return np.where(count < _LEAST_EXACT, tens, divisor)


def _distinct(readings: Readings) -> Readings:
    """The different readings of each clock in ascending order, the least ones if they are many."""
    order = np.lexsort((readings.ticks, readings.clock))
    clock, ticks, varies = readings.clock[order], readings.ticks[order], readings.varies[order]
    first = find_starts([clock, ticks])
    if len(first):
        varies = np.logical_or.reduceat(varies, first)
    clock, ticks = clock[first], ticks[first]
    starts = find_starts([clock])
    some = places_in_runs(np.diff(starts, append=len(clock))) < MOST_READINGS
    return Readings(clock[some], ticks[some], varies[some])


def _is_believed(step: Floats | Ints, count: Ints, chance: float) -> Mask:
    """Whether chance hardly makes so many readings multiples of a step."""
    believed: Mask = np.log(np.maximum(step, 1)) * (count - 1) >= np.log(chance)
    return believed


def _estimate_rounded(steps: Floats, clock: Ints, ticks: Floats) -> None:
    """Fill in steps of which all readings, which ascend, are multiples to a tick.

    The shortest reading is some number of steps; each number gives a range of steps, which the
    further readings narrow down until all but the right one are empty.
    """
    rows = _table(clock, ticks)
    most = np.minimum((rows[:, 0] + 1) / ROUNDED_STEP, _MOST_STEPS).astype(np.int64)
    row, number = np.repeat(np.arange(len(rows)), most), places_in_runs(most) + 1.0
    low, high = (rows[row, 0] - 1) / number, (rows[row, 0] + 1) / number
    for place in range(1, rows.shape[1]):
        some = (low <= high) & (high >= ROUNDED_STEP)
        row, low, high = row[some], low[some], high[some]
        if not len(row):
            return
        value = rows[row, place]
        number = np.rint(value / ((low + high) / 2))
        low, high = np.fmax(low, (value - 1) / number), np.fmin(high, (value + 1) / number)
    some = low <= high
    row, step = row[some], (low[some] + high[some]) / 2
    count = np.count_nonzero(~np.isnan(rows), axis=1)[row]
    some = _is_believed(step / 3, count, _CHANCE * _MOST_STEPS)  # three ticks of a step fit
    some &= count >= _LEAST_ROUNDED
    np.maximum.at(steps, clock[find_starts([clock])][row[some]], step[some])


def _table(clock: Ints, ticks: Floats) -> NDArray[np.float64]:
    """The first readings of each clock up to a wide gap, a row per clock, filled up with NaN."""
    first = find_starts([clock])
    place = places_in_runs(np.diff(first, append=len(clock)))
    table = np.full((len(first), _TRIED), np.nan)
    some = place < _TRIED
    table[(np.cumsum(place == 0) - 1)[some], place[some]] = ticks[some]
    with np.errstate(invalid="ignore"):
        gap = table[:, 1:] > _WIDEST_GAP * table[:, :-1]
    table[:, 1:][np.logical_or.accumulate(gap, axis=1)] = np.nan
    return table
