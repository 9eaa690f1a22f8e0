"""The base of a night: the last builds of each series, and how much builds usually vary. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.regressions.history import Cells
from tracehouse.warehouse.regressions.states import (
    StateCells,
    find_reaction,
    find_state_error,
    find_steadiness,
    row_mean,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.two_samples import row_median

_QUIETER = (
    0.8  # residual values decide if their spread between builds is below this share of the raw one
)
_BUILDS_TO_KNOW = 8  # builds of a base; with fewer, values without the states always decide
_SPLIT_SHARE = 0.25  # share of a base's builds with two modes from which medians say little

NO_BUILD = -1


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
