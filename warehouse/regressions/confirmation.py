"""Whether the nights since a suspicion confirm it. Pure."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.regressions.errors import MOST_NIGHTS_TOGETHER
from tracehouse.warehouse.regressions.history import SeriesHistory
from tracehouse.warehouse.regressions.nightly import HALF, Rules
from tracehouse.warehouse.regressions.states import StateCells, find_state_error
from tracehouse.warehouse.regressions.verdicts import LevelChange, compare_builds
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask, log_change
from tracehouse.warehouse.statistics.device_states import NO_KERNEL


class Answer(enum.Enum):
    """Whether nights confirm a suspicion."""

    YES = enum.auto()
    NO = enum.auto()
    WAIT = enum.auto()


class _Evidence(NamedTuple):
    """Evidence of some nights for each change, in its direction.

    Attributes:
        p: p of the test.
        moved: Distance of the nights from the base, by the values that decide.
        own: Distance of the nights from the base without the states of the device.
        has_left: Whether the nights left the mode of nearly all of the base.
    """

    p: Floats
    moved: Floats
    own: Floats
    has_left: Mask


def check_nights(
    history: SeriesHistory,
    states: StateCells,
    changes: Sequence[LevelChange],
    since: Sequence[Ints],
    rules: Rules,
) -> list[Answer]:
    """Whether all nights since each suspicion hit, and the last shows the change by itself.

    `since` has for each change the nights with dumps since its suspicion.
    """
    last = [nights[-1:] for nights in since]
    alone, both = (_compare(history, changes, each) for each in (last, since))
    is_denied = _hear_witness(history, changes, since, both)
    answers = []
    for row, (change, nights) in enumerate(zip(changes, since, strict=True)):
        least = float(log_change(history.series.min_change[change.series]))
        error, error_of_state = _errors(history, states, change, nights)
        if both.has_left[row]:  # other nights were there, too, but compared within their modes
            error = max(error, change.night_spread)
        limit, doubt = rules.both_gate * error, rules.gate * error_of_state
        is_large = both.own[row] >= max(least, doubt)
        limit = math.hypot(limit, doubt) if change.is_residual else limit
        is_large = is_large and both.moved[row] >= max(least, limit)
        if alone.p[row] > rules.weak_p or min(alone.own[row], alone.moved[row]) < HALF * least:
            answers.append(Answer.NO)
        elif is_denied[row] or (both.has_left[row] and len(nights) < MOST_NIGHTS_TOGETHER):
            answers.append(_wait(nights, rules))
        elif both.p[row] <= rules.both_p and is_large:
            answers.append(Answer.YES)
        else:
            answers.append(_wait(nights, rules))
    return answers


def _hear_witness(
    history: SeriesHistory,
    changes: Sequence[LevelChange],
    since: Sequence[Ints],
    both: _Evidence,
) -> Mask:
    """Whether the reference build of all nights denies each change: it would show it, and does not.

    It would if the change is larger than the error of values relative to the reference.
    """
    error = np.array([change.witness_error for change in changes])
    count = np.array([len(nights) for nights in since])
    is_able = both.moved > error / np.sqrt(count)  # never if there is no reference
    rows = np.flatnonzero(is_able)
    is_denied: Mask = np.zeros(len(changes), bool)
    relative = [replace(changes[row], is_residual=False) for row in rows.tolist()]
    pairs = [
        (each, each.base, since[row]) for each, row in zip(relative, rows.tolist(), strict=True)
    ]
    way = np.array([each.direction for each in relative], np.int64)
    shown = compare_builds(history, pairs).shift * way
    is_denied[rows] = shown < HALF * both.moved[rows]
    return is_denied


def _errors(
    history: SeriesHistory, states: StateCells, change: LevelChange, nights: Ints
) -> tuple[float, float]:
    """Usual distance of as many nights from their base, and what their states add for one."""
    state, unrest = states.state.T[change.series], states.unrest.T[change.series, nights]
    moved = np.mean(state[nights]) - np.mean(state[change.base])
    error = change.errors[min(len(nights), MOST_NIGHTS_TOGETHER) - 1]
    error_of_state = float(
        find_state_error(
            moved,
            change.state_error,
            change.state_spread,
            change.errors[0],
            np.sqrt(np.mean(unrest**2)),
        )
    )
    has_likes = history.series.kernel[change.series] != NO_KERNEL and not change.is_relative
    is_known = has_likes and math.isfinite(error_of_state)
    return error, error_of_state if change.is_residual or is_known else 0.0


def _wait(nights: Ints, rules: Rules) -> Answer:
    return Answer.WAIT if len(nights) < rules.most_nights else Answer.NO


def _compare(
    history: SeriesHistory, changes: Sequence[LevelChange], nights: Sequence[Ints]
) -> _Evidence:
    """Compare nights with the base of each change, raw and without the states."""
    way = np.array([change.direction for change in changes], np.int64)
    residual_changes = [
        replace(change, is_residual=True)
        if history.series.kernel[change.series] != NO_KERNEL and not change.is_relative
        else change
        for change in changes
    ]
    decisive, residual = (
        compare_builds(history, [(c, c.base, n) for c, n in zip(each, nights, strict=True)])
        for each in (changes, residual_changes)
    )
    return _Evidence(decisive.p, decisive.shift * way, residual.shift * way, decisive.has_left)
