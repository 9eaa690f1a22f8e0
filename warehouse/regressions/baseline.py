"""The base of a night: the last builds of each series, and how much builds usually vary. Pure.

Errors are distances of past builds from their bases, which a change must exceed. No model of the
variation of builds is assumed: the errors include all of its causes (placement of code,
temperature, nights that resemble the previous one).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.regressions.fleet import Cells
from tracehouse.warehouse.regressions.states import (
    StateCells,
    find_reaction,
    find_state_error,
    find_steadiness,
    row_mean,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.device_states import LEAST_SPREAD
from tracehouse.warehouse.statistics.runs import places_in_runs
from tracehouse.warehouse.statistics.two_samples import row_median

_QUIETER = (
    0.8  # residual values decide if their spread between builds is below this share of the raw one
)
_BUILDS_TO_KNOW = 8  # builds of a base; with fewer, values without the states always decide
_SPLIT_SHARE = 0.25  # share of a base's builds with two modes from which medians say little
NO_BUILD = -1
MOST_NIGHTS_TOGETHER = 3
ERROR_NIGHTS = 32  # nights before a build whose errors count
_FAMILY_NIGHTS = 8  # minimum weight of the family's median, in nights
_FAMILY_GROWTH = 0.5  # its maximum weight, times the square of the nights so far
_MOST_OF_MEDIAN = 8.0
_RARE_SHARE = 0.1  # share of nights: if more errors exceed the limit, they are not due to chance
_FAR = 0.05  # distance of a state from the base's beyond which errors may be larger
_USUAL_SLOPE = 0.05  # of errors over that distance, before the family's own slope is known
_SLOPE_NIGHTS = 2  # weight of the usual slope, in nights of a family
_DOUBT = 5.5  # with n nights, including the family's, the size is larger by this share over n


class Base(NamedTuple):
    """The base of every series: statistics of earlier builds, to compare a night with.

    Attributes:
        chosen: Builds of the base, newest first, then NO_BUILD; shape (most builds, series).
        builds: Number of these builds.
        dumps: Number of their dumps.
        raw: Median of the builds' medians; NaN without builds.
        residual: The same without the states of the device.
        value: Mean of the builds' mean values.
        state: Mean of the builds' mean states.
        reaction: How far each series moves if the device's state moves by 1.
        state_error: Squared error added by a state at distance 1 from the base's state.
        dump_spread: Standard deviation of dumps within builds, without the states.
        raw_spread: Root mean square distance of the builds' medians from the base, in any mode.
        residual_spread: The same without the states of the device.
        is_split: Whether dumps fall into modes.
        is_relative: Whether the night and its base were recorded with a reference build.
        is_mixed: Whether only some of them were: raw values then say nothing.
        is_witnessed: Whether the reference build shows a change that states of the device hide.
        raw_error: Usual distance of builds from their bases so far, by series and family.
        residual_error: The same without the states.
        moved: Distance of the night's state from the base's.
        state_spread: How far the states of the builds are apart.
        is_steady: Whether the device was steady in the builds.
        unrest: How far the night's operators are from their levels, in their usual errors.
    """

    chosen: Ints
    builds: Ints
    dumps: Ints
    raw: Floats
    residual: Floats
    value: Floats
    state: Floats
    reaction: Floats
    state_error: Floats
    dump_spread: Floats
    raw_spread: Floats
    residual_spread: Floats
    is_split: Mask
    is_relative: Mask
    is_mixed: Mask
    is_witnessed: Mask
    raw_error: Floats
    residual_error: Floats
    moved: Floats
    state_spread: Floats
    is_steady: Mask
    unrest: Floats

    def list_builds(self, series: int) -> Ints:
        """The builds of the base of a series, in order."""
        return np.sort(self.chosen[: self.builds[series], series])

    def find_builds(self, series: Ints) -> Mask:
        """Whether builds are of the base of each of some series; shape (series, builds)."""
        is_chosen = np.zeros((len(series), self.chosen.max(initial=NO_BUILD) + 2), bool)
        is_chosen[np.arange(len(series)), self.chosen[:, series]] = True
        return is_chosen[:, :-1]  # without NO_BUILD

    @property
    def is_residual(self) -> Mask:
        """Whether values without the states decide: they vary less, or the base is small."""
        quieter = self.residual_error < _QUIETER * self.raw_error
        is_residual: Mask = quieter | (self.builds < _BUILDS_TO_KNOW) | self.is_mixed
        return is_residual & ~self.is_witnessed

    @property
    def night_spread(self) -> Floats:
        """Usual distance of builds from the base in any mode, by the values that decide."""
        night_spread: Floats = np.where(self.is_residual, self.residual_spread, self.raw_spread)
        return night_spread

    @property
    def error_of_state(self) -> Floats:
        """The error that the state of the night adds."""
        return find_state_error(
            self.moved, self.state_error, self.state_spread, self.residual_error, self.unrest
        )

    @property
    def error(self) -> Floats:
        """Usual distance of builds from their bases, by the values that decide."""
        error: Floats = np.where(
            self.is_residual, np.hypot(self.residual_error, self.error_of_state), self.raw_error
        )
        return error


class Bases:
    """The bases of all series, from night to night, and the builds that they may consist of."""

    def __init__(self, cells: Cells, states: StateCells, most_builds: int) -> None:
        """Bases that may consist of all builds.

        Args:
            cells: Summaries of the cells.
            states: Statistics of the states of the nights, to be filled in night by night.
            most_builds: Largest number of builds in a base.
        """
        self._has_dumps = np.ascontiguousarray(cells.dump_count.T > 0)
        self._median = np.ascontiguousarray(cells.median.T)
        self._is_split = np.ascontiguousarray(cells.is_split.T)
        self._is_relative = np.ascontiguousarray(cells.is_relative.T)
        self._states = states
        self._usable = self._has_dumps.copy()
        self._chosen = np.full((most_builds, self._usable.shape[1]), NO_BUILD)
        self._next = 0  # the first build that was not considered yet
        self._changed: set[int] = set()

    def use(self, series: int, builds: int | slice | Ints, *, is_usable: bool = True) -> None:
        """Let bases of a series consist of some builds with dumps; or not, unless `is_usable`."""
        self._usable[builds, series] = is_usable & self._has_dumps[builds, series]
        self._changed.add(series)

    def find(self, build: int) -> Base:
        """The base of a build: the last usable builds before it. The errors are not known."""
        self._choose(build)
        chosen = self._chosen
        missing = np.nonzero(chosen == NO_BUILD)
        places = np.maximum(chosen, 0) * chosen.shape[1] + np.arange(chosen.shape[1])

        def read(table: NDArray[Any], default: float = np.nan) -> NDArray[Any]:
            values: NDArray[Any] = table.ravel().take(places)
            values[missing] = default
            return values

        builds = (chosen != NO_BUILD).sum(axis=0)
        moments = [read(each, 0) for each in self._states.moments]
        with np.errstate(invalid="ignore"):
            state, value = moments[1] / moments[0], moments[3] / moments[0]
        reaction, doubt = find_reaction(moments, state, builds)
        state_spread, is_steady = find_steadiness(state)
        unknown = np.full(len(builds), np.nan)
        medians, residuals = read(self._median), value - reaction * state
        raw, residual = _median(medians), _median(residuals)
        relative = read(self._is_relative, 0).sum(axis=0)
        if build < len(self._is_relative):
            relative += self._is_relative[build]
        return Base(
            chosen,
            builds,
            moments[0].sum(axis=0).astype(np.int64),
            raw,
            residual,
            row_mean(np.ascontiguousarray(value.T)),
            row_mean(np.ascontiguousarray(state.T)),
            reaction,
            doubt,
            _median(read(self._states.spread)),
            _spread(medians - raw),
            _spread(residuals - residual),
            read(self._is_split, 0).sum(axis=0) > _SPLIT_SHARE * builds,
            is_relative=relative > builds,
            is_mixed=(relative > 0) & (relative <= builds),
            is_witnessed=np.zeros(len(builds), bool),
            raw_error=unknown,
            residual_error=unknown,
            moved=np.zeros(len(builds)),
            state_spread=state_spread,
            is_steady=is_steady,
            unrest=np.ones(len(builds)),
        )

    def _choose(self, build: int) -> None:
        """Choose the last usable builds before a build."""
        for number in range(self._next, build):
            later = np.concatenate([np.full_like(self._chosen[:1], number), self._chosen[:-1]])
            self._chosen = np.where(self._usable[number], later, self._chosen)
        for series in self._changed:
            usable = np.flatnonzero(self._usable[:build, series])[: -len(self._chosen) - 1 : -1]
            self._chosen[:, series] = NO_BUILD
            self._chosen[: len(usable), series] = usable
        self._next = build
        self._changed.clear()


def _median(values: Floats) -> Floats:
    return row_median(np.ascontiguousarray(values.T))


def _spread(distance: Floats) -> Floats:
    return np.sqrt(row_mean(np.ascontiguousarray(distance.T) ** 2))


class Errors:
    """Errors of the nights so far: of single builds, and of several in a row.

    The reaction to the state of the device is subtracted with its latest estimate, which for the
    first nights was not known at the time.
    """

    def __init__(self, family: Ints, build_count: int) -> None:
        shape = build_count, len(family)
        self._raw, self._value = np.full(shape, np.nan), np.full(shape, np.nan)
        self._state = np.zeros(shape)
        self._raw_base, self._value_base, self._state_base = np.full((3, *shape), np.nan)
        self._family = family

    def add(self, build: int, raw: Floats, value: Floats, state: Floats, base: Base) -> None:
        """Add the errors of a build: its distances from its base, NaN if unknown."""
        self._raw[build], self._value[build], self._state[build] = raw, value, state
        self._raw_base[build], self._value_base[build] = base.raw, base.value
        self._state_base[build] = base.state

    def forget(self, series: int, builds: slice) -> None:
        """Remove errors that turned out to be a change."""
        self._raw[builds, series] = self._value[builds, series] = np.nan

    def complete(self, build: int, base: Base, series: Ints) -> Base:
        """The base of a build, with the errors before it for the families of some series.

        The errors apply where the state of the device is near that of the base; `state_error` is
        what its distance adds. They are NaN for a family without errors, and for other families.
        """
        if not len(series):
            return base
        kin = _Families.of(series, self._family)
        own, reaction = kin.series, base.reaction[kin.series]
        raw = self._read(self._raw, build, own)
        residual, slope = self._without_states(build, kin, reaction)
        sizes = np.full((3, len(self._family)), np.nan)
        sizes[:, own] = (
            kin.shrunken_sizes(raw),
            kin.shrunken_sizes(residual),
            np.hypot(base.state_error[own], slope[kin.family] * reaction),
        )
        return base._replace(raw_error=sizes[0], residual_error=sizes[1], state_error=sizes[2])

    def size_over_nights(self, build: int, base: Base, series: Ints) -> Floats:
        """Errors of means of 1, 2, ... consecutive builds: (MOST_NIGHTS_TOGETHER, len(series)).

        Consecutive builds are compared with the base of the first, like those of a suspicion. How
        much smaller the errors of their means are is learned from the family, because a single
        series has too few such sequences. Without any, errors are assumed to be independent.
        """
        kin = _Families.of(series, self._family)
        own, reaction = kin.series, (base.reaction * base.is_residual)[kin.series]
        made, _ = self._without_states(build, kin, reaction)
        times = reaction[:, None]
        level = np.where(
            times,
            self._read(self._value_base, build, own)
            - times * self._read(self._state_base, build, own),
            self._read(self._raw_base, build, own),
        )
        level[base.is_split[own]] = 0.0  # the median of two modes jumps from one mode to the other
        single, place = kin.sizes(made), np.searchsorted(own, series)
        one = np.where(base.is_residual, base.residual_error, base.raw_error)
        rows, total = [one[series]], made
        for count in range(2, MOST_NIGHTS_TOGETHER + 1):
            first = slice(max(0, made.shape[1] - count + 1))
            drift = level[:, count - 1 :] - level[:, first]
            total = total[:, first] + made[:, count - 1 :] + drift
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = kin.median(kin.sizes(total / count) / single)[place]
            rows.append(rows[0] * np.where(np.isfinite(ratio), ratio, 1 / np.sqrt(count)))
        return np.stack(rows)

    def _without_states(
        self, build: int, kin: _Families, reaction: Floats
    ) -> tuple[Floats, Floats]:
        """The errors without reactions to states; and for each family, their growth with a state.

        Operators do not react to the state in exactly the same way every night. The growth of a
        family's errors with the distance of the state from the base's is learned from its nights.
        A series with a reaction of 0 has its raw errors.
        """
        times, own = reaction[:, None], kin.series
        state = times * self._read(self._state, build, own)
        errors = np.where(
            times, self._read(self._value, build, own) - state, self._read(self._raw, build, own)
        )
        moved = np.abs(state)
        steady, slope = _find_state_error(kin.family, np.abs(errors), moved)
        return errors / _state_error_ratio(steady[kin.family], slope[kin.family], moved), slope

    def _read(self, table: Floats, build: int, series: Ints) -> Floats:
        """Rows of some series in the nights before a build that count."""
        return np.ascontiguousarray(table[max(0, build - ERROR_NIGHTS) : build, series].T)


def _find_state_error(family: Ints, errors: Floats, moved: Floats) -> tuple[Floats, Floats]:
    """For each family: the error where the state is near, and its growth with the distance."""
    known = ~np.isnan(errors)
    errors = np.where(known, errors, 0.0)
    is_far = known & (moved > _FAR)
    is_near = known & ~is_far
    near, near_error, far, far_error, distance = (
        np.bincount(family, each.sum(axis=1))
        for each in (is_near, errors * is_near, is_far, errors * is_far, moved * is_far)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        steady = np.where(near > 0, near_error / near, far_error / far)
        slope = np.nan_to_num(np.maximum(far_error - steady * far, 0) / distance)
    nights = far / np.maximum(np.bincount(family), 1)
    slope = (slope * nights + _USUAL_SLOPE * _SLOPE_NIGHTS) / (nights + _SLOPE_NIGHTS)
    return np.fmax(steady, LEAST_SPREAD), slope


def _state_error_ratio(steady: Floats, slope: Floats, moved: Floats) -> Floats:
    times: Floats = np.sqrt(1 + (slope[:, None] * moved / steady[:, None]) ** 2)
    return times


class _Families:
    """Some families, and statistics over their members.

    Attributes:
        series: Numbers of their series, ascending.
        family: The family of each of these series, counted over these families.
    """

    def __init__(self, series: Ints, family: Ints) -> None:
        self.series, self.family = series, family
        self._members = _list_members(family)

    @classmethod
    def of(cls, series: Ints, family: Ints) -> _Families:
        """The families of some series; `family` is that of every series."""
        is_chosen = np.zeros(int(family.max(initial=-1)) + 1, bool)
        is_chosen[family[series]] = True
        own = np.flatnonzero(is_chosen[family])
        return cls(own, (np.cumsum(is_chosen) - 1)[family[own]])

    def shrunken_sizes(self, made: Floats) -> Floats:
        """Standard deviation of each series' errors, shrunk towards that of the family."""
        own = self.sizes(made)
        count = np.count_nonzero(~np.isnan(made), axis=1)
        common = self.median(own)
        most = _FAMILY_GROWTH * count**2
        nights = np.fmax(np.minimum(self._likeness(own, count), most), _FAMILY_NIGHTS)
        weighed = np.where(count > 0, count * own**2, 0) + nights * common**2
        doubt = 1 + _DOUBT / np.maximum(count + np.minimum(nights, most), 1)
        size: Floats = doubt * np.sqrt(weighed / (count + nights))
        return size

    def sizes(self, made: Floats) -> Floats:
        """Root mean square of each series' errors."""
        sizes = np.abs(made)
        count = np.count_nonzero(~np.isnan(made), axis=1)
        middle = row_median(sizes)
        # A change that was not detected is not an error; a recurring deviation is.
        limit = _MOST_OF_MEDIAN * np.fmax(middle, self.median(middle))
        beyond = np.count_nonzero(sizes > limit[:, None], axis=1)
        limit[beyond > np.maximum(1, _RARE_SHARE * count)] = np.inf
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = np.minimum(sizes, limit[:, None]) ** 2
            own: Floats = np.sqrt(np.nansum(squares, axis=1) / count)
        return own

    def _likeness(self, sizes: Floats, count: Ints) -> Floats:
        """The weight of a family's size, in nights of a series.

        The less sizes in the family differ beyond chance in `count` nights, the higher the weight.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = 2 * np.log(sizes)
            squares = (logs - self.median(logs)) ** 2 - 2 / np.maximum(count - 1, 1)
        known = np.isfinite(squares)
        total = np.bincount(self.family, np.where(known, squares, 0.0))
        excess = total / np.maximum(np.bincount(self.family, known) - 1, 1)
        nights: Floats = 2 / np.maximum(excess, 1e-9)[self.family]
        return nights

    def median(self, values: Floats) -> Floats:
        """The median of each series' family."""
        median: Floats = row_median(np.append(values, np.nan)[self._members])[self.family]
        return median


def _list_members(family: Ints) -> Ints:
    """The series of each family, filled up with the number after the last series."""
    count = np.bincount(family)
    order = np.argsort(family, kind="stable")
    members = np.full((len(count), int(count.max(initial=0))), len(family))
    members[family[order], places_in_runs(count)] = order
    return members
