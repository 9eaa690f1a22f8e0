"""How each series reacts to the state of its device, night by night. Pure.

See `warehouse.statistics.device_states` for how the state of a dump is found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warehouse.statistics.arrays import Floats, Ints
from warehouse.statistics.device_states import (
    LEAST_SPREAD,
    MAD_TO_SD,
    NightValues,
    group_median,
)

_UNKNOWN_STATE = 0.04  # as if a night's had differed by that where all operators react alike
_REACTIONS = (0.1, 4.0)  # least and most
_USUAL_EXCESS = 2.0  # times the base's spread that the dumps of a night may have
_REACTION_SPREAD = 0.25  # standard deviation over operators
_FAR = 3.0  # standard deviations


class StateCells(NamedTuple):
    """What the states of a night say of each series; each of shape (series, builds).

    Attributes:
        spread: Robust standard deviation of its values, the states taken out; NaN without any.
        moments: Sums over its dumps: of 1, the state, its square, the value, value times state.
    """

    spread: Floats
    moments: Floats

    @property
    def state(self) -> Floats:
        """Mean state of the dumps of each series; NaN without any."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.moments[1] / self.moments[0]
        return mean

    @property
    def value(self) -> Floats:
        """Mean of their values, those far off drawn in; NaN without any."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.moments[3] / self.moments[0]
        return mean

    @classmethod
    def empty(cls, shape: tuple[int, int]) -> StateCells:
        """Those of no night."""
        return cls(np.full(shape, np.nan), np.zeros((5, *shape)))


def row_mean(rows: Floats) -> Floats:
    """The mean of each row without its NaN; NaN for a row of nothing else."""
    with np.errstate(invalid="ignore"):
        mean: Floats = np.nansum(rows, axis=1) / np.count_nonzero(~np.isnan(rows), axis=1)
    return mean


def find_reaction(cells: StateCells, series: Ints, build: Ints) -> tuple[Floats, Floats]:
    """How far each series moves when the device moves by 1, by a regression over chosen cells.

    It is drawn towards 1, all the more the less the states of those cells differ. The second array
    says how far off it may be: as much as operators differ where nothing is known, and less the
    more the nights differ: dumps of one night say the same of a reaction.
    """
    shape = len(cells.state)
    count, state, square, value, product = (
        np.bincount(series, each[series, build], minlength=shape) for each in cells.moments
    )
    least = np.maximum(count, 1)
    nights, mean, mean_square = (
        np.bincount(series, each, minlength=shape)
        for each in (None, cells.state[series, build], cells.state[series, build] ** 2)
    )
    drawn = count / np.maximum(nights, 1) * _UNKNOWN_STATE**2
    with np.errstate(invalid="ignore"):
        known = np.maximum(square - state**2 / least, 0)
        slope = (product - value * state / least + drawn) / (known + drawn)
    differ = np.maximum(mean_square - mean**2 / np.maximum(nights, 1), 0)
    doubt = _REACTION_SPREAD / np.sqrt(1 + differ / _UNKNOWN_STATE**2)
    return np.clip(np.nan_to_num(slope, nan=1.0), *_REACTIONS), doubt


def summarise_states(
    cells: StateCells, build: int, night: NightValues, state: Floats, reaction: Floats
) -> None:
    """Fill in the cells of a night. A value far from where it should be counts as less far."""
    own = night.series
    series = np.unique(own)
    residual = night.value - reaction[own] * state
    level = group_median(own, residual)
    distance = residual - level
    spread = MAD_TO_SD * group_median(own, np.abs(distance))
    cells.spread[own, build] = spread
    far = _FAR * np.maximum(spread, LEAST_SPREAD)
    value = level + np.clip(distance, -far, far) + reaction[own] * state
    sums = (np.ones(len(own)), state, state**2, value, value * state)
    for moment, each in zip(cells.moments, sums, strict=True):
        moment[series, build] = np.bincount(own, each, minlength=len(moment))[series]


def find_excess_spread(spread: Floats, usual: Floats) -> Floats:
    """How many times as far as usual nights may be from their base; 1 or more.

    Where the dumps of a night differ far more than those of the base, something disturbed many of
    them, and their median is as much less sure.

    Args:
        spread: Standard deviation of the dumps of the nights; NaN if unknown.
        usual: The same of the base.
    """
    times = spread / (_USUAL_EXCESS * np.maximum(usual, LEAST_SPREAD))
    excess_spread: Floats = np.fmax(times, 1.0)
    return excess_spread
