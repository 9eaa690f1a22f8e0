"""Whether the nights since a suspicion confirm it. Pure."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.regressions.errors import MOST_NIGHTS_TOGETHER
from tracehouse.warehouse.regressions.history import SeriesHistory
from tracehouse.warehouse.regressions.nightly import HALF, Rules
from tracehouse.warehouse.regressions.states import StateCells, find_state_error
from tracehouse.warehouse.regressions.verdicts import LevelChange, compare_levels
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
    evidence = _Evidences(history, changes)
    rows = np.arange(len(changes))
    alone = evidence.find(rows, [nights[-1:] for nights in since])
    least = log_change(history.series.min_change[evidence.series])
    is_shown = np.minimum(alone.own, alone.moved) >= HALF * least
    rows = rows[(alone.p <= rules.weak_p) & is_shown]
    answers = [Answer.NO] * len(changes)
    both = evidence.find(rows, [since[row] for row in rows.tolist()])
    is_denied = _hear_witness(history, changes, since, rows, both)
    for place, row in enumerate(rows.tolist()):
        change, nights = changes[row], since[row]
        error, error_of_state = _errors(history, states, change, nights)
        if both.has_left[place]:  # other nights were there, too, but compared within their modes
            error = max(error, change.night_spread)
        limit, doubt = rules.both_gate * error, rules.gate * error_of_state
        is_large = both.own[place] >= max(least[row], doubt)
        limit = math.hypot(limit, doubt) if change.is_residual else limit
        is_large = is_large and both.moved[place] >= max(least[row], limit)
        is_early = both.has_left[place] and len(nights) < MOST_NIGHTS_TOGETHER
        if is_denied[place] or is_early or both.p[place] > rules.both_p or not is_large:
            answers[row] = _wait(nights, rules)
        else:
            answers[row] = Answer.YES
    return answers


class _Evidences:
    """Compares nights with the base of each of some changes, raw and without the states."""

    def __init__(self, history: SeriesHistory, changes: Sequence[LevelChange]) -> None:
        self.series = np.array([change.series for change in changes], np.int64)
        self._history, self._changes = history, changes
        self._reaction = np.array([change.reaction for change in changes])
        own = np.array([change.own_reaction for change in changes])
        has_likes = history.series.kernel[self.series] != NO_KERNEL
        has_likes &= ~np.array([change.is_relative for change in changes], bool)
        self._own_reaction = np.where(has_likes, own, self._reaction)

    def find(self, rows: Ints, nights: Sequence[Ints]) -> _Evidence:
        """The evidence of nights for the changes of these numbers."""
        differ = np.flatnonzero(self._own_reaction[rows] != self._reaction[rows])
        both, count = np.append(rows, rows[differ]), len(rows)
        found = compare_levels(
            self._history,
            self.series[both],
            np.append(self._reaction[rows], self._own_reaction[rows[differ]]),
            [self._changes[row].base for row in both.tolist()],
            [*nights, *(nights[place] for place in differ.tolist())],
        )
        sign = np.array([self._changes[row].direction for row in rows.tolist()], np.int64)
        moved = found.shift[:count] * sign
        own = moved.copy()
        own[differ] = found.shift[count:] * sign[differ]
        return _Evidence(found.p[:count], moved, own, found.has_left[:count])


def _hear_witness(
    history: SeriesHistory,
    changes: Sequence[LevelChange],
    since: Sequence[Ints],
    rows: Ints,
    both: _Evidence,
) -> Mask:
    """Whether the reference build denies each change `rows`: it would show it, and does not.

    It would if the change is larger than the error of values relative to the reference.
    """
    error = np.array([changes[row].witness_error for row in rows.tolist()])
    count = np.array([len(since[row]) for row in rows.tolist()])
    able = np.flatnonzero(both.moved > error / np.sqrt(count))  # never if there is no reference
    is_denied: Mask = np.zeros(len(rows), bool)
    if len(able):
        heard = [changes[row] for row in rows[able].tolist()]
        series, sign = (np.array([(each.series, each.direction) for each in heard], np.int64)).T
        base, nights = [each.base for each in heard], [since[row] for row in rows[able].tolist()]
        shown = compare_levels(history, series, np.zeros(len(able)), base, nights).shift * sign
        is_denied[able] = shown < HALF * both.moved[able]
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
