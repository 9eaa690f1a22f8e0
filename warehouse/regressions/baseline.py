"""The base of a night: the last builds of each series, and how much builds usually vary. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warehouse.regressions.history import Cells, SeriesHistory
from warehouse.regressions.states import StateCells, find_reaction, row_mean
from warehouse.statistics.arrays import Floats, Ints, Mask
from warehouse.statistics.two_samples import row_median

_QUIETER = 0.8  # of the raw spread between builds, below which residual values decide
_BUILDS_TO_KNOW = 8  # of a base, before which values without the states always decide
_SPLIT_SHARE = 0.25  # of the builds of a base that have two modes, for medians to say little


class Base(NamedTuple):
    """What the builds before say of every series, and how the night it is compared with differs.

    Attributes:
        chosen: Builds of the base; shape (series, builds before).
        builds: How many they are.
        dumps: Their dumps.
        raw: Median of their medians; NaN without any.
        residual: The same with the states of the device taken out.
        value: Mean of the means of their values.
        state: Mean of the means of their states.
        reaction: How many times as far as the device each moves with its state.
        state_error: What a state that is 1 from the base's adds to errors, in squares.
        dump_spread: Standard deviation of dumps within builds, the states taken out.
        is_split: Whether dumps fall into modes.
        raw_error: How far builds have been from their bases so far, of the series and its family.
        residual_error: The same with the states taken out.
        moved: How far the state of the night is from the base's.
        excess_spread: How many times as far as usual the night may be from its base.
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
        """Whether values without the states decide: they are quieter, or it is too early."""
        quieter = self.residual_error < _QUIETER * self.raw_error
        is_residual: Mask = quieter | (self.builds < _BUILDS_TO_KNOW)
        return is_residual

    @property
    def error_of_state(self) -> Floats:
        """What the state of the night adds to errors, in squares."""
        error_of_state: Floats = self.state_error * np.abs(self.moved)
        return error_of_state

    @property
    def error(self) -> Floats:
        """How far builds have been from their bases, by the values that decide."""
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
    """The last builds of each series among the `usable` ones, shape (series, builds before)."""
    before = usable.shape[1]
    there = usable & (cells.dump_count[:, :before] > 0)
    newest_first = np.cumsum(there[:, ::-1], axis=1)[:, ::-1]
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
