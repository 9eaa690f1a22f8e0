"""The base of a night: the last builds of each series, and how much builds usually vary. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warehouse.regressions.history import Cells, SeriesHistory
from warehouse.regressions.states import StateCells, find_reaction, row_mean
from warehouse.statistics.arrays import Floats, Ints, Mask
from warehouse.statistics.two_samples import row_median

_QUIETER = (
    0.8  # residual values decide if their spread between builds is below this share of the raw one
)
_BUILDS_TO_KNOW = 8  # builds of a base; with fewer, values without the states always decide
_SPLIT_SHARE = 0.25  # share of a base's builds with two modes from which medians say little


class Base(NamedTuple):
    """The base of every series: statistics of earlier builds, to compare a night with.

    Attributes:
        chosen: Builds of the base; shape (series, earlier builds).
        builds: Number of these builds.
        dumps: Number of their dumps.
        raw: Median of the builds' medians; NaN without builds.
        residual: The same without the states of the device.
        value: Mean of the builds' mean values.
        state: Mean of the builds' mean states.
        reaction: How far each series moves if the device's state moves by 1.
        state_error: Squared error added by a state at distance 1 from the base's state.
        dump_spread: Standard deviation of dumps within builds, without the states.
        is_split: Whether dumps fall into modes.
        raw_error: Usual distance of builds from their bases so far, by series and family.
        residual_error: The same without the states.
        moved: Distance of the night's state from the base's.
        excess_spread: Factor by which the night may be farther from its base than usual.
    """

    chosen: Mask
    builds: Ints
    dumps: Ints
    raw: Floats
    residual: Floats
    value: Floats
    state: Floats
    reaction: Floats
    state_error: Floats
    dump_spread: Floats
    is_split: Mask
    raw_error: Floats
    residual_error: Floats
    moved: Floats
    excess_spread: Floats

    @property
    def is_residual(self) -> Mask:
        """Whether values without the states decide: they vary less, or the base is small."""
        quieter = self.residual_error < _QUIETER * self.raw_error
        is_residual: Mask = quieter | (self.builds < _BUILDS_TO_KNOW)
        return is_residual

    @property
    def error_of_state(self) -> Floats:
        """The squared error that the state of the night adds."""
        error_of_state: Floats = self.state_error * np.abs(self.moved)
        return error_of_state

    @property
    def error(self) -> Floats:
        """Usual distance of builds from their bases, by the values that decide."""
        error: Floats = np.where(
            self.is_residual, np.hypot(self.residual_error, self.error_of_state), self.raw_error
        )
        return error * self.excess_spread


def find_base(
    history: SeriesHistory,
    cells: Cells,
    states: StateCells,
    usable: Mask,
    most_builds: int,
) -> Base:
    """The last builds of each series among the `usable` ones, shape (series, earlier builds)."""
    before = usable.shape[1]
    there = usable & (cells.dump_count[:, :before] > 0)
    newest_first = np.cumsum(there[:, ::-1], axis=1, dtype=np.int32)[:, ::-1]
    chosen = there & (newest_first <= most_builds)
    row, build = np.nonzero(chosen)
    slot = newest_first[row, build] - 1
    shape = history.series_count, most_builds
    raw, value, state, spread = (np.full(shape, np.nan) for _ in range(4))
    raw[row, slot] = cells.median[row, build]
    reaction, doubt = find_reaction(states, row, build)
    state[row, slot], value[row, slot] = states.state[row, build], states.value[row, build]
    spread[row, slot] = states.spread[row, build]
    return Base(
        chosen,
        chosen.sum(axis=1),
        np.where(chosen, cells.dump_count[:, :before], 0).sum(axis=1),
        row_median(raw),
        row_median(value - reaction[:, None] * state),
        row_mean(value),
        row_mean(state),
        reaction,
        doubt,
        row_median(spread),
        (cells.is_split[:, :before] & chosen).sum(axis=1) > _SPLIT_SHARE * chosen.sum(axis=1),
        np.full(len(chosen), np.nan),
        np.full(len(chosen), np.nan),
        np.zeros(len(chosen)),
        np.ones(len(chosen)),
    )
