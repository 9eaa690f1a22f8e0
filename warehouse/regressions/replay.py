"""Many nights in order: suspicions, their confirmation, and changes that go away again. Pure.

A series that hits is suspected; the build is kept out of its base. The next night that has dumps
of it confirms or clears it: all dumps since then must hit, and the new ones show the same direction
by themselves. A confirmed change starts a new level: later builds are compared with those since
then, and the change itself is gone when two nights in a row are back at the old one.

What is said as of a build depends on it and the builds before only, so that any report can be made
again.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.common_shift import common_shift, find_voters
from warehouse.regressions.errors import MOST_IN_A_ROW, Errors
from warehouse.regressions.history import Cells, SeriesHistory, gather_values, summarise_cells
from warehouse.regressions.nightly import Base, JudgedNight, Rules, Status, find_base, judge_night
from warehouse.statistics.two_samples import SampleComparison, compare_samples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_LOOK_BACK = 3  # builds before a suspicion where the change may have begun
_NIGHTS_TO_BE_GONE = 2
_FEWEST_NIGHTS = 2  # that confirm
_STILL_THERE = 0.5  # of a change, below which a night is nearer to the old level


class _Answer(enum.Enum):
    YES = enum.auto()
    NO = enum.auto()
    WAIT = enum.auto()


@dataclass
class LevelChange:
    """A series that moved to another level.

    Attributes:
        series: Number of the series.
        direction: 1 for slower, -1 for faster.
        suspected: Build of the first hit.
        first_bad: First build at the new level.
        last_good: Last build with dumps before it.
        base: Builds of the old level, at most those of a base.
        is_loud: Whether the first hit was worth a word before it was confirmed.
        is_framed: Whether it is judged without the family's shifts.
        shift: How far it moved, a logarithm.
        errors: Of 1, 2, ... builds in a row, as they were known at the suspicion.
        p_adjusted: p of the night that found it, after Benjamini-Hochberg.
        confirmed: Build that confirmed it; None as long as it is suspected.
        fixed: First build that was back at the old level; None as long as it is not.
        back: Nights in a row that were back.
    """

    series: int
    direction: int
    suspected: int
    first_bad: int
    last_good: int
    base: Ints
    is_loud: bool
    is_framed: bool
    shift: float
    errors: list[float]
    p_adjusted: float
    confirmed: int | None = None
    fixed: int | None = None
    back: list[int] = field(default_factory=list)


class Replay(NamedTuple):
    """What is known as of the last build.

    Attributes:
        changes: Suspected, confirmed and fixed ones; by suspicion, then series.
        night: What the last build says by itself.
        shifts: Shift of each family in each build; shape (families, builds).
        cells: Summaries of the dumps.
    """

    changes: list[LevelChange]
    night: JudgedNight
    shifts: Floats
    cells: Cells


def replay(history: SeriesHistory, rules: Rules = Rules()) -> Replay:  # noqa: B008 - it is immutable
    """Judge every build in order; the last one is the head."""
    nights = _Nights(history, rules)
    for build in range(history.build_count):
        nights.judge(build)
    told = [change for change in nights.changes if change.is_loud or change.confirmed is not None]
    return Replay(told, nights.latest, nights.shifts, nights.cells)


class _Nights:
    """The state from night to night."""

    def __init__(self, history: SeriesHistory, rules: Rules) -> None:
        shape = history.series_count, history.build_count
        self.changes: list[LevelChange] = []
        self.cells = summarise_cells(history)
        self.shifts = np.zeros((history.family_count, history.build_count))
        self.latest: JudgedNight
        self._history, self._rules = history, rules
        self._voters = find_voters(history.series)
        self._usable = np.ones(shape, bool)
        self._raw_errors, self._framed_errors = Errors(*shape), Errors(*shape)
        self._suspects: dict[int, LevelChange] = {}
        self._open: dict[int, list[LevelChange]] = {}

    def judge(self, build: int) -> None:
        family, median = self._history.series.family, self.cells.median[:, build]
        base = self._find_base(build)
        self.shifts[:, build] = common_shift(
            self._voters,
            median - base.framed,
            base.dump_spread,
            base.dumps / np.maximum(base.builds, 1),
            self._history.family_count,
        )
        self.latest = judge_night(self._history, self.cells, self.shifts, build, base, self._rules)
        raw, framed = median - base.raw, median - self.shifts[family, build] - base.framed
        raw[self.latest.tested] = self.latest.raw_shift
        framed[self.latest.tested] = self.latest.framed_shift
        self._raw_errors.add(build, raw)
        self._framed_errors.add(build, framed)
        there = self.cells.dump_count[:, build] > 0
        known = self._settle_open(build, there) | self._settle_suspects(build, there)
        known |= self._suspects.keys()
        news = [n for n in np.flatnonzero(self.latest.direction).tolist() if n not in known]
        if news:
            raw, framed = (
                errors.in_a_row(build, family) for errors in (self._raw_errors, self._framed_errors)
            )
            for series in news:
                errors = framed if base.is_framed[series] else raw
                self._suspect(series, build, errors[:, series].tolist())

    def _find_base(self, build: int) -> Base:
        history, family = self._history, self._history.series.family
        base = find_base(
            history, self.cells, self.shifts, self._usable[:, :build], self._rules.base_builds
        )
        return base._replace(
            raw_error=self._raw_errors.of_one(build, family),
            framed_error=self._framed_errors.of_one(build, family),
        )

    def _suspect(self, series: int, build: int, errors: list[float]) -> None:
        night = self.latest
        place = int(np.searchsorted(night.tested, series))
        before = np.flatnonzero(night.base.chosen[series])
        change = LevelChange(
            series=series,
            direction=int(night.direction[series]),
            suspected=build,
            first_bad=build,
            last_good=int(before[-1]),
            base=before,
            is_loud=bool(night.status[series] == Status.HIT),
            is_framed=bool(night.base.is_framed[series]),
            shift=float(night.comparison.shift[place]),
            errors=errors,
            p_adjusted=float(night.p_adjusted[place]),
        )
        self._suspects[series] = change
        self.changes.append(change)
        self._usable[series, build] = False

    def _settle_suspects(self, build: int, there: Mask) -> set[int]:
        """Confirm or clear what was suspected; the series that were confirmed."""
        waiting = {series for series in self._suspects if there[series]}
        if not waiting:
            return set()
        confirmed = set()
        for series in sorted(waiting):
            change = self._suspects[series]
            verdict = self._ask_again(change, build)
            if verdict is _Answer.WAIT:
                self._usable[series, build] = False
                continue
            del self._suspects[series]
            if verdict is _Answer.YES:
                self._confirm(change, build)
                confirmed.add(series)
            else:
                self.changes.remove(change)
                self._usable[series, change.suspected : build + 1] = True
        return confirmed

    def _ask_again(self, change: LevelChange, build: int) -> _Answer:
        """Whether all builds since the suspicion hit, and the last shows it by itself."""
        rules, series = self._rules, change.series
        since = np.arange(change.suspected, build + 1)
        since = since[self.cells.dump_count[series, since] > 0]
        least = float(np.log1p(self._history.series.min_change[series]))
        alone = self._compare(change, change.base, since[-1:])
        if alone.p[0] > rules.confirm_p or alone.shift[0] * change.direction < least / 2:
            return _Answer.NO
        both = self._compare(change, change.base, since)
        error = change.errors[min(len(since), MOST_IN_A_ROW) - 1]
        gate = rules.fast_gate if len(since) == _FEWEST_NIGHTS else rules.slow_gate
        if both.p[0] <= rules.both_p and both.shift[0] * change.direction >= max(
            least, gate * error
        ):
            return _Answer.YES
        return _Answer.WAIT if len(since) < rules.most_nights else _Answer.NO

    def _confirm(self, change: LevelChange, build: int) -> None:
        change.confirmed = build
        self._localise(change, build)
        since = np.arange(change.first_bad, build + 1)
        change.shift = float(self._compare(change, change.base, since).shift[0])
        self._open.setdefault(change.series, []).append(change)
        usable = self._usable[change.series]
        usable[: change.first_bad] = False
        usable[change.first_bad : build + 1] = True
        self._forget_errors(change.series, slice(change.first_bad, build + 1))

    def _forget_errors(self, series: int, builds: slice) -> None:
        self._raw_errors.forget(series, builds)
        self._framed_errors.forget(series, builds)

    def _localise(self, change: LevelChange, build: int) -> None:
        """Move the change to where its dumps are told apart best."""
        there = np.flatnonzero(self.cells.dump_count[change.series, : build + 1] > 0)
        known = np.union1d(change.base, there[there >= change.base[0]])
        starts = known[(known >= change.suspected - _LOOK_BACK) & (known > change.base[1])]
        splits = [
            (self._compare(change, known[known < start], known[known >= start]).p[0], start)
            for start in starts.tolist()
        ]
        if splits:
            change.first_bad = min(splits)[1]
            before = known[known < change.first_bad]
            change.last_good = int(before[-1])
            change.base = change.base[change.base < change.first_bad]

    def _settle_open(self, build: int, there: Mask) -> set[int]:
        """End changes that are gone; the series that may be on their way back."""
        returning = set()
        for series, changes in self._open.items():
            for change in changes if there[series] else ():
                offset = self.shifts[self._history.series.family[series]] * change.is_framed
                level = self.cells.median[series] - offset
                moved = (level[build] - np.median(level[change.base])) / change.shift
                change.back = [*change.back, build] if moved < _STILL_THERE else []
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

    def _fix(self, change: LevelChange, build: int) -> None:
        change.fixed = change.back[0]
        usable = self._usable[change.series]
        usable[change.first_bad : change.fixed] = False
        usable[change.base] = True
        usable[change.fixed : build + 1] = True
        self._forget_errors(change.series, slice(change.fixed, build + 1))

    def _compare(self, change: LevelChange, base: Ints, head: Ints) -> SampleComparison:
        builds = self._history.build_count
        row = np.array([change.series])
        offset = self.shifts[self._history.series.family[row]] * change.is_framed
        chosen = np.zeros((2, 1, builds), bool)
        chosen[0, 0, base] = True
        chosen[1, 0, head] = True
        return compare_samples(*(gather_values(self._history, row, c, offset) for c in chosen))
