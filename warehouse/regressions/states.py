"""Reactions of each series to the state of its device, night by night. Pure.

`warehouse.statistics.device_states` explains how the state of a dump is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.device_states import (
    KERNELS,
    LEAST_SPREAD,
    MAD_TO_SD,
    NO_KERNEL,
    NO_UNIT,
    Groups,
    NightValues,
    group_median,
)
from tracehouse.warehouse.statistics.runs import find_starts

_UNKNOWN_STATE = 0.04  # assumed difference of a night's states where all operators react alike
_REACTIONS = (0.1, 4.0)  # limits
_REACTION_SPREAD = 0.25  # standard deviation over operators
_FAR = 3.0  # standard deviations
_STEADY = 0.03  # standard deviation of the states of nights below which a device is steady


class StateCells(NamedTuple):
    """Statistics of values and states of each series; each of shape (builds, series).

    Attributes:
        spread: Robust standard deviation of the values without the states; NaN without values.
        moments: Sums over the dumps: of 1, the state, its square, the value, value times state.
        state: Mean state of the dumps; NaN without any.
        value: Mean of the values, with outliers shrunk; NaN without any.
        unrest: How far operators are from their levels, in their usual errors; at least 1.
    """

    spread: Floats
    moments: Floats
    state: Floats
    value: Floats
    unrest: Floats

    @classmethod
    def empty(cls, shape: tuple[int, int]) -> StateCells:
        """The statistics without any night."""
        spread, state, value = (np.full(shape, np.nan) for _ in range(3))
        return cls(spread, np.zeros((5, *shape)), state, value, np.ones(shape))


def row_mean(rows: Floats) -> Floats:
    """The mean of each row without NaN; NaN for a row of only NaN."""
    with np.errstate(invalid="ignore"):
        mean: Floats = np.nansum(rows, axis=1) / np.count_nonzero(~np.isnan(rows), axis=1)
    return mean


def find_reaction(moments: Sequence[Floats], means: Floats, nights: Ints) -> tuple[Floats, Floats]:
    """The movement of each series when the device moves by 1, by a regression over some builds.

    The result is shrunk towards 1, more strongly the less the states of those builds differ. The
    second array is the error of the result: the spread over operators if nothing is known, and
    smaller the more the nights differ, because dumps of one night give only one reaction.

    Args:
        moments: `StateCells.moments` of the builds of each series, newest first, each of shape
            (builds, series); 0 in place of a missing build.
        means: Mean states of these builds; NaN in place of a missing one.
        nights: Number of builds of each series.
    """
    known_means = np.nan_to_num(means)
    count, state, square, value, product, mean, mean_square = (
        each[::-1].sum(axis=0) for each in (*moments, known_means, known_means**2)
    )
    least = np.maximum(count, 1)
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
    """Fill in the cells of a night; outliers are shrunk."""
    own = night.series
    series = own[find_starts([own])]
    residual = night.value - reaction[own] * state
    groups = Groups(own)
    level = groups.median(residual)[own]
    distance = residual - level
    spread = MAD_TO_SD * groups.median(np.abs(distance))[own]
    cells.spread[build, own] = spread
    far = _FAR * np.maximum(spread, LEAST_SPREAD)
    value = level + np.clip(distance, -far, far) + reaction[own] * state
    sums = (np.ones(len(own)), state, state**2, value, value * state)
    for moment, each in zip(cells.moments, sums, strict=True):
        moment[build, series] = np.bincount(own, each)[series]
    count, state_sum, _, value_sum, _ = cells.moments[:, build, series]
    cells.state[build, series] = state_sum / count
    cells.value[build, series] = value_sum / count


def find_steadiness(states: Floats) -> tuple[Floats, Mask]:
    """How far the states of some nights are apart, and whether the device was steady in them.

    `states` has a row per night, NaN in place of a missing one; two nights are never enough.
    """
    far = states - row_mean(np.ascontiguousarray(states.T))
    nights = np.count_nonzero(~np.isnan(states), axis=0)
    squares = np.nansum(far**2, axis=0) + _STEADY**2
    spread = np.sqrt(squares / np.maximum(nights - 1, 1))
    return spread, spread < _STEADY


def find_unrest(family: Ints, kernel: Ints, unit: Ints, far: Floats) -> Floats:
    """How far the operators of a night are from their levels, for all series of their unit.

    It is the robust standard deviation of `far`, their distances in units of their usual errors,
    and at least 1. It is 1 for series without a unit; a method has the larger one of its units.
    """
    scope = family * 2 + np.maximum(unit, 0)
    own = np.flatnonzero((kernel != NO_KERNEL) & (unit != NO_UNIT) & ~np.isnan(far))
    found = np.ones(2 * (int(family.max(initial=-1)) + 1))
    found[scope[own]] = np.fmax(1.0, MAD_TO_SD * group_median(scope[own], np.abs(far[own])))
    is_whole = (kernel == NO_KERNEL) & (unit == KERNELS)
    largest = found.reshape(-1, 2).max(axis=1)
    unrest: Floats = np.where(is_whole, largest[family], found[scope])
    return np.where(unit == NO_UNIT, 1.0, unrest)


def find_state_error(
    moved: Floats | float,
    state_error: Floats | float,
    state_spread: Floats | float,
    error: Floats | float,
    unrest: Floats | float,
) -> Floats:
    """The error that the states of a night add.

    Operators do not react alike. If those of a night are farther from their levels than usual, the
    state of the device is in doubt as well, but hardly by more than it moves.

    Args:
        moved: Distance of the states from those of the base.
        state_error: Squared error added by a state at distance 1.
        state_spread: How far the states of the base's nights are apart.
        error: Usual error of the values without the states.
        unrest: The result of `find_unrest`.
    """
    doubt = np.fmin(error * np.sqrt(unrest**2 - 1), np.fmax(np.abs(moved), state_spread))
    error_of_state: Floats = np.hypot(state_error * moved, doubt)
    return error_of_state
