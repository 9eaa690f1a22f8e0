"""What the nights since a suspicion say of it. Pure."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.errors import MOST_IN_A_ROW
from warehouse.regressions.history import NO_KERNEL, SeriesHistory
from warehouse.regressions.level_changes import LevelChange, compare_builds, compare_mode_shares
from warehouse.regressions.nightly import Rules
from warehouse.regressions.shared_moves import SharedMove

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STILL_THERE = 0.5  # of a change, below which a night is nearer to the old level
_FEWEST_NIGHTS = 2  # that confirm
_FEWEST_NIGHTS_OF_SHARES = 3  # as modes come in clusters


class Answer(enum.Enum):
    """Whether nights confirm a suspicion."""

    YES = enum.auto()
    NO = enum.auto()
    WAIT = enum.auto()


class _Evidence(NamedTuple):
    """What some nights show of each change, in its direction.

    Attributes:
        p: p of their test.
        moved: How far they are from its base, in the frame that decides.
        own: What of that is not shared with its family, nor a reaction to it.
        reaction: How much of it may be a reaction to what the family did in the last night.
    """

    p: Floats
    moved: Floats
    own: Floats
    reaction: Floats


def ask_nights(
    history: SeriesHistory,
    shifts: Floats,
    shared: SharedMove,
    changes: Sequence[LevelChange],
    since: Sequence[Ints],
    rules: Rules,
) -> list[Answer]:
    """Whether all nights since each suspicion hit, and the last shows it by itself.

    Args:
        history: The values.
        shifts: Shift of each family in each build; shape (families, builds).
        shared: What the kernels of each family did together in the last night.
        changes: What is suspected.
        since: The nights with dumps of each since its suspicion.
        rules: The numbers that decide.
    """

    by_level = [row for row, change in enumerate(changes) if change.modes is None]
    levels = [changes[row] for row in by_level], [since[row] for row in by_level]
    answers = dict(zip(by_level, _ask_levels(history, shifts, shared, *levels, rules), strict=True))
    return [
        answers[row]
        if row in answers
        else _ask_share(history, shifts, shared, change, nights, rules)
        for row, (change, nights) in enumerate(zip(changes, since, strict=True))
    ]


def _ask_levels(
    history: SeriesHistory,
    shifts: Floats,
    shared: SharedMove,
    changes: Sequence[LevelChange],
    since: Sequence[Ints],
    rules: Rules,
) -> list[Answer]:
    last = [nights[-1:] for nights in since]
    alone, both = (_compare(history, shifts, shared, changes, each) for each in (last, since))
    answers = []
    for row, (change, nights) in enumerate(zip(changes, since, strict=True)):
        least = float(np.log1p(history.series.min_change[change.series]))
        error = change.errors[min(len(nights), MOST_IN_A_ROW) - 1]
        gate = rules.fast_gate if len(nights) == _FEWEST_NIGHTS else rules.slow_gate
        is_own = alone.own[row] >= least / 2 and both.own[row] >= least
        is_large = is_own and both.moved[row] >= gate * error
        if alone.p[row] > rules.confirm_p or alone.own[row] + alone.reaction[row] < least / 2:
            answers.append(Answer.NO)
        elif both.p[row] <= rules.both_p and is_large:
            answers.append(Answer.YES)
        else:
            answers.append(_wait(nights, rules))
    return answers


def _wait(nights: Ints, rules: Rules) -> Answer:
    return Answer.WAIT if len(nights) < rules.most_nights else Answer.NO


def _compare(
    history: SeriesHistory,
    shifts: Floats,
    shared: SharedMove,
    changes: Sequence[LevelChange],
    nights: Sequence[Ints],
) -> _Evidence:
    """Compare nights with the base of each change, and beside its family if it has one."""
    series = np.array([change.series for change in changes], np.int64)
    way = np.array([change.direction for change in changes], np.int64)
    has_likes = (history.series.kernel[series] != NO_KERNEL).tolist()
    beside = [
        replace(change, is_framed=change.is_framed or likes)
        for change, likes in zip(changes, has_likes, strict=True)
    ]
    decisive, framed = (
        compare_builds(history, shifts, [(c, c.base, n) for c, n in zip(each, nights, strict=True)])
        for each in (changes, beside)
    )
    moved = decisive.shift * way
    reaction = shared.reactions(history.series, series, way)
    own = np.minimum(moved, framed.shift * way) - reaction
    return _Evidence(decisive.p, moved, own, reaction)


def _ask_share(
    history: SeriesHistory,
    shifts: Floats,
    shared: SharedMove,
    change: LevelChange,
    nights: Ints,
    rules: Rules,
) -> Answer:
    """Whether the share of slow dumps moved: by all nights since, and the last as well."""
    found = compare_mode_shares(history, shifts, change, nights)
    series, way = np.array([change.series]), np.array([change.direction])
    moved = found.moved * change.direction
    own = moved - float(shared.reactions(history.series, series, way)[0])
    least = float(np.log1p(history.series.min_change[change.series]))
    lasting = (found.last - found.base) / (found.head - found.base) if moved > 0 else 0
    if lasting < STILL_THERE:
        return Answer.NO
    if len(nights) >= _FEWEST_NIGHTS_OF_SHARES and found.p <= rules.both_p and own >= least:
        return Answer.YES
    return _wait(nights, rules)
