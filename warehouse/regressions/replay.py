"""Judging nights in order: suspicions, their confirmation, and changes that end. Pure.

A series that hits is suspected; the build is excluded from its base. The next night with dumps of
the series confirms or clears the suspicion: all dumps since then must hit, and the new ones must
show the same direction by themselves. A confirmed change starts a new level, with which later
builds are compared. The change ends when two consecutive nights are back at the old level.

The result for a build depends only on that build and earlier ones, so any report can be
reproduced.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.regressions.baseline import MOST_NIGHTS_TOGETHER, Base, Bases, Errors
from tracehouse.warehouse.regressions.changes import (
    LevelChange,
    compare_builds,
    compare_levels,
    share_of_change,
)
from tracehouse.warehouse.regressions.fleet import Cells, SeriesHistory, summarise_cells
from tracehouse.warehouse.regressions.nightly import (
    HALF,
    NightResult,
    Rules,
    Status,
    choose_series,
    compare_night,
    judge_night,
)
from tracehouse.warehouse.regressions.states import (
    StateCells,
    find_state_error,
    find_unrest,
    summarise_states,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask, log_change
from tracehouse.warehouse.statistics.device_states import (
    NO_KERNEL,
    NO_UNIT,
    NightValues,
    Operators,
    UsualLevels,
    dump_states,
    group_median,
)

_NIGHTS_TO_BE_GONE = 2


class Replay(NamedTuple):
    """The result as of the last build.

    Attributes:
        changes: Suspected, confirmed and fixed changes, by suspicion, then series.
        night: The result of the last build by itself.
        shifts: Median state of the dumps of each family in each build; shape (families, builds).
        cells: Summaries of the cells.
        states: Mean state of the dumps of each series in each build.
        values: Mean value of the dumps of each series in each build.
        history: The history with the states.
    """

    changes: list[LevelChange]
    night: NightResult
    shifts: Floats
    cells: Cells
    states: Floats
    values: Floats
    history: SeriesHistory


def replay(history: SeriesHistory, rules: Rules = Rules()) -> Replay:  # noqa: B008 - it is immutable
    """Judge every build in order; the last one is the head."""
    nights = _Nights(history, rules)
    for build in range(history.build_count):
        nights.judge(build)
    reported = [
        change for change in nights.changes if change.is_loud or change.confirmed is not None
    ]
    return Replay(
        reported,
        nights.latest,
        nights.shifts,
        nights.cells,
        nights.states.state.T,
        nights.states.value.T,
        nights.history,
    )


class _Nights:
    """The state from night to night."""

    def __init__(self, history: SeriesHistory, rules: Rules) -> None:
        shape = history.build_count, history.series_count
        self.changes: list[LevelChange] = []
        self.cells = summarise_cells(history)
        self.shifts = np.zeros((history.family_count, history.build_count))
        self.latest: NightResult
        self.history = history._replace(
            states=np.zeros(len(history.values)), reference=history.reference.copy()
        )
        self._rules = rules
        self.states = StateCells.empty(shape)
        cell = np.repeat(np.arange(len(history.start) - 1), np.diff(history.start))
        self._series_of_value, build_of_value = np.divmod(cell, history.build_count)
        self._by_build = np.argsort(build_of_value, kind="stable")
        self._build_ends = np.cumsum(np.bincount(build_of_value, minlength=history.build_count))
        self._dump_count = int(history.dump.max(initial=-1)) + 1
        self._bases = Bases(self.cells, self.states, rules.base_builds)
        self._errors = Errors(history.series.family, history.build_count)
        self._suspects: dict[int, LevelChange] = {}
        self._open: dict[int, list[LevelChange]] = {}

    def judge(self, build: int) -> None:
        base = self._bases.find(build)
        self._find_states(build, base)
        state, value = self.states.state[build], self.states.value[build]
        moved = np.nan_to_num(state - base.state)
        base = base._replace(moved=moved)
        level = value - base.reaction * state
        choice = choose_series(self.history, self.cells, level, build, base, self._rules)
        tested, is_last = choice.tested, build == self.history.build_count - 1
        shown = np.arange(len(level)) if is_last else tested
        base = self._errors.complete(build, base, shown)
        night = compare_night(self.history, build, tested, base)
        far = level - base.residual
        far[tested] = night.residual.shift
        base = base._replace(unrest=self._find_unrest(build, far, base, tested))
        self.latest = judge_night(self.history, choice, night, base, self._rules)
        raw_moved, moved_alone = choice.raw_moved, value - base.value
        raw_moved[tested] = night.raw.shift
        moved_alone[tested] = night.residual.shift + (base.reaction * moved)[tested]
        raw_moved[base.is_mixed] = np.nan
        self._errors.add(build, raw_moved, moved_alone, moved, base)
        there = self.cells.dump_count[:, build] > 0
        known = self._settle_open(build, there) | self._settle_suspects(build, there)
        known |= self._suspects.keys()
        news = [n for n in np.flatnonzero(self.latest.direction).tolist() if n not in known]
        if news:
            base = self.latest.base
            errors = self._errors.size_over_nights(build, base, np.array(news)).T.tolist()
            for series, own in zip(news, errors, strict=True):
                self._suspect(series, build, own)

    def _find_unrest(self, build: int, far: Floats, base: Base, tested: Ints) -> Floats:
        """How far operators are from their levels, in families with a series that is tested."""
        series, is_near = self.history.series, np.ones(self.history.family_count, bool)
        is_near[series.family[tested]] = False
        with np.errstate(invalid="ignore", divide="ignore"):
            far = far / base.residual_error
        far[is_near[series.family]] = np.nan
        unrest = find_unrest(series.family, series.kernel, series.unit, far)
        self.states.unrest[build] = unrest
        return unrest

    def _find_states(self, build: int, base: Base) -> None:
        """Estimate the state of the device in the dumps of a night, and summarise its cells."""
        history, end = self.history, self._build_ends
        chosen = self._by_build[end[build - 1] if build else 0 : end[build]]
        own, reference = self._series_of_value[chosen], np.nan_to_num(history.reference[chosen])
        value = history.values[chosen] + reference
        family = history.series.family[own]
        dumps = family * self._dump_count + history.dump[chosen]
        numbers, dump = np.unique(dumps, return_inverse=True)
        night = NightValues(own, dump, value, len(numbers))
        usual = UsualLevels(
            base.residual, base.dump_spread, base.reaction, base.state, base.is_steady
        )
        operators = Operators(history.series.kernel, history.series.unit, history.series.half_tick)
        state = dump_states(operators, night, usual, numbers // self._dump_count)
        history.reference[chosen[np.isnan(state)]] = 0.0
        night = night._replace(value=value - np.where(np.isnan(state), reference, 0.0))
        state = np.nan_to_num(state)
        history.states[chosen] = state
        summarise_states(self.states, build, night, state, base.reaction)
        known = history.series.unit[own] != NO_UNIT
        self.shifts[family[known], build] = group_median(family[known], state[known])

    def _suspect(self, series: int, build: int, errors: list[float]) -> None:
        night = self.latest
        place = int(np.searchsorted(night.tested, series))
        found = night.comparison
        before = night.base.list_builds(series)
        change = LevelChange(
            series=series,
            direction=int(night.direction[series]),
            suspected=build,
            first_bad=build,
            last_good=int(before[-1]),
            base=before,
            is_loud=bool(night.status[series] == Status.HIT),
            is_residual=bool(night.is_residual[series]),
            own_reaction=float(night.base.reaction[series]),
            shift=float(found.shift[place]),
            errors=errors,
            night_spread=float(night.base.night_spread[series]),
            state_error=float(night.base.state_error[series]),
            state_spread=float(night.base.state_spread[series]),
            p_adjusted=float(night.p_adjusted[place]),
            is_relative=bool(night.base.is_relative[series] and not night.is_residual[series]),
            witness_error=float(
                night.base.raw_error[series] if night.base.is_relative[series] else np.inf
            ),
        )
        self._suspects[series] = change
        self.changes.append(change)
        self._bases.use(series, build, is_usable=False)

    def _settle_suspects(self, build: int, there: Mask) -> set[int]:
        """Confirm or clear suspicions; returns the confirmed series."""
        waiting = [self._suspects[n] for n in sorted(self._suspects) if there[n]]
        if not waiting:
            return set()
        since = [self._nights_since(change.suspected, change, build) for change in waiting]
        answers = check_nights(self.history, self.states, waiting, since, self._rules)
        confirmed = []
        for change, answer in zip(waiting, answers, strict=True):
            if answer is Answer.WAIT and self._is_comparable(change, build):
                self._bases.use(change.series, build, is_usable=False)
                continue
            del self._suspects[change.series]
            if answer is Answer.YES and self._is_comparable(change, build):
                confirmed.append(change)
            else:
                self.changes.remove(change)
                self._bases.use(change.series, slice(change.suspected, build + 1))
        self._confirm(confirmed, build)
        return {change.series for change in confirmed}

    def _is_comparable(self, change: LevelChange, build: int) -> bool:
        """Whether a night has the values that decide a change."""
        return not change.is_relative or bool(self.cells.is_relative[change.series, build])

    def _nights_since(self, first: int, change: LevelChange, build: int) -> Ints:
        nights = np.arange(first, build + 1)
        there: Ints = nights[self.cells.dump_count[change.series, nights] > 0]
        return there

    def _confirm(self, changes: Sequence[LevelChange], build: int) -> None:
        self._localise(changes, build)
        figures = compare_builds(
            self.history,
            [(change, change.base, np.arange(change.first_bad, build + 1)) for change in changes],
        )
        for row, change in enumerate(changes):
            change.confirmed, change.shift = build, float(figures.shift[row])
            self._open.setdefault(change.series, []).append(change)
            self._bases.use(change.series, slice(change.first_bad), is_usable=False)
            self._bases.use(change.series, slice(change.first_bad, build + 1))
            self._errors.forget(change.series, slice(change.first_bad, build + 1))

    def _localise(self, changes: Sequence[LevelChange], build: int) -> None:
        """Move the beginning of changes to the build from which dumps differ most clearly."""
        splits = []
        for change in changes:
            known = np.union1d(change.base, self._nights_since(change.base[0], change, build))
            earliest = self._earliest(change)
            splits += [
                (change, known[known < start], known[known >= start])
                for start in known[known >= earliest].tolist()
            ]
        best: dict[int, tuple[float, int]] = {}
        found = compare_builds(self.history, splits)
        for (change, before, after), p in zip(splits, found.p, strict=True):
            split = float(p), int(after[0])
            if split < best.get(change.series, (np.inf, 0)):
                best[change.series] = split
                change.first_bad, change.last_good = split[1], int(before[-1])
        for change in changes:
            change.base = change.base[change.base < change.first_bad]

    def _earliest(self, change: LevelChange) -> int:
        """The suspected night, or the first of those right before it with too few dumps to hit."""
        earliest = change.suspected
        for night in change.base[:1:-1].tolist():
            if self.cells.dump_count[change.series, night] >= self._rules.least_dumps:
                break
            earliest = night
        return earliest

    def _settle_open(self, build: int, there: Mask) -> set[int]:
        """End changes that are gone; returns the series that may be returning."""
        returning = set()
        for series, changes in self._open.items():
            for change in changes if there[series] else ():
                if not self._is_comparable(change, build):
                    continue
                moved = share_of_change(self._level(change), change, build)
                change.back = [*change.back, build] if moved < HALF else []
                if change.back:
                    returning.add(series)
                if len(change.back) == _NIGHTS_TO_BE_GONE:
                    self._fix(change, build)
        self._open = {
            series: still
            for series, changes in self._open.items()
            if (still := [change for change in changes if change.fixed is None])
        }
        return returning

    def _level(self, change: LevelChange) -> Floats:
        """The level of a series in each build, by the values that decide its change."""
        if not change.reaction:
            level: Floats = self.cells.median[change.series]
            return level
        moments = self.states.moments[:, :, change.series]
        with np.errstate(invalid="ignore"):
            level = (moments[3] - change.reaction * moments[1]) / moments[0]
        return level

    def _fix(self, change: LevelChange, build: int) -> None:
        change.fixed = change.back[0]
        self._bases.use(change.series, slice(change.first_bad, change.fixed), is_usable=False)
        self._bases.use(change.series, change.base)
        self._bases.use(change.series, slice(change.fixed, build + 1))
        self._errors.forget(change.series, slice(change.fixed, build + 1))


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
        effect: Distance of the nights from the base without the states of the device.
        has_left: Whether the nights left the mode of nearly all of the base.
    """

    p: Floats
    moved: Floats
    effect: Floats
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
    evidence = _Comparison(history, changes)
    rows = np.arange(len(changes))
    alone = evidence.find(rows, [nights[-1:] for nights in since])
    least = log_change(history.series.min_change[evidence.series])
    is_shown = np.minimum(alone.effect, alone.moved) >= HALF * least
    rows = rows[(alone.p <= rules.weak_p) & is_shown]
    answers = [Answer.NO] * len(changes)
    both = evidence.find(rows, [since[row] for row in rows.tolist()])
    is_denied = _hear_witness(history, changes, since, rows, both)
    for place, row in enumerate(rows.tolist()):
        change, nights = changes[row], since[row]
        error, error_of_state = _errors(history, states, change, nights)
        if both.has_left[place]:  # other nights were there, too, but compared within their modes
            error = max(error, change.night_spread)
        limit, doubt = rules.both_multiple * error, rules.noise_multiple * error_of_state
        is_large = both.effect[place] >= max(least[row], doubt)
        limit = math.hypot(limit, doubt) if change.is_residual else limit
        is_large = is_large and both.moved[place] >= max(least[row], limit)
        is_early = both.has_left[place] and len(nights) < MOST_NIGHTS_TOGETHER
        if is_denied[place] or is_early or both.p[place] > rules.both_p or not is_large:
            answers[row] = _wait(nights, rules)
        else:
            answers[row] = Answer.YES
    return answers


class _Comparison:
    """Compares nights with the base of each of some changes, raw and without the states."""

    def __init__(self, history: SeriesHistory, changes: Sequence[LevelChange]) -> None:
        self.series = np.array([change.series for change in changes], np.int64)
        self._history, self._changes = history, changes
        self._reaction = np.array([change.reaction for change in changes])
        peers = np.array([change.own_reaction for change in changes])
        has_likes = history.series.kernel[self.series] != NO_KERNEL
        has_likes &= ~np.array([change.is_relative for change in changes], bool)
        self._peer_reaction = np.where(has_likes, peers, self._reaction)

    def find(self, rows: Ints, nights: Sequence[Ints]) -> _Evidence:
        """The evidence of nights for the changes of these numbers."""
        differ = np.flatnonzero(self._peer_reaction[rows] != self._reaction[rows])
        both, count = np.append(rows, rows[differ]), len(rows)
        found = compare_levels(
            self._history,
            self.series[both],
            np.append(self._reaction[rows], self._peer_reaction[rows[differ]]),
            [self._changes[row].base for row in both.tolist()],
            [*nights, *(nights[place] for place in differ.tolist())],
        )
        sign = np.array([self._changes[row].direction for row in rows.tolist()], np.int64)
        moved = found.shift[:count] * sign
        effect = moved.copy()
        effect[differ] = found.shift[count:] * sign[differ]
        return _Evidence(found.p[:count], moved, effect, found.has_left[:count])


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
