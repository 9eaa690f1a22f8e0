"""Verdicts of two builds, and changes of a level: what a night says of a series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

import numpy as np

from tracehouse.warehouse.regressions.history import SeriesHistory, gather_values
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.two_samples import SampleComparison, compare_samples


class SeriesVerdict(StrEnum):
    """Verdicts on a series of two builds, changes first; see the query `regression_deltas`.

    Attributes:
        words: The verdict in people's words.
        detail: Explanation for a new, removed or moved operator, with the builds' names.
        is_judged: Whether the series could have shown a change.
    """

    words: str
    detail: str
    is_judged: bool

    REGRESSION = "regression", "slower"
    IMPROVEMENT = "improvement", "faster"
    NEW_OP = "new_op", "added", "not in {base}", False
    REMOVED_OP = "removed_op", "removed", "in {base}, not in {head}", False
    MOVED = "moved", "moved elsewhere", "its time moved to other operators; the total is unchanged"
    MODE_MIX = (
        "mode_mix",
        "at another speed",
        "the share of slow processes changed",
    )
    UNCHANGED = "unchanged", "unchanged"
    EXPLAINED_BY_RUN_SHIFT = "explained_by_run_shift", "moved with all others"
    INCONCLUSIVE = "inconclusive", "cannot tell"
    BELOW_RESOLUTION = "below_resolution", "too fast to judge", "", False
    NEEDS_MORE_DUMPS = "needs_more_dumps", "too few dumps", "", False

    @property
    def is_change(self) -> bool:
        """Whether the series changed."""
        return self in (SeriesVerdict.REGRESSION, SeriesVerdict.IMPROVEMENT) or bool(self.detail)

    def __new__(cls, name: str, words: str = "", detail: str = "", is_judged: bool = True) -> Self:
        """Create a member from its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.words, member.detail, member.is_judged = words, detail, is_judged
        return member


@dataclass(eq=False)
class LevelChange:
    """A change of a series to another level.

    Attributes:
        series: Number of the series.
        direction: 1 for slower, -1 for faster.
        suspected: Build of the first hit.
        first_bad: First build at the new level.
        last_good: Last build of the base with dumps before `first_bad`.
        base: Builds of the old level, at most as many as in a base.
        is_loud: Whether the first hit was reported before it was confirmed.
        is_residual: Whether values without the states of the device decide.
        is_relative: Whether the values are relative to a reference build, otherwise.
        witness_error: Error of a build by values relative to a reference build; infinite if it was
            not recorded with the build and with the base.
        own_reaction: Factor of the state that is subtracted from those values.
        shift: Size of the change, a logarithm.
        errors: Errors of 1, 2, ... consecutive builds, as known at the suspicion.
        night_spread: Usual distance of builds from the base in any mode.
        state_error: Squared error added by a state at distance 1 from the base's state.
        state_spread: How far the states of the base's builds are apart.
        p_adjusted: p of the night of the suspicion, after Benjamini-Hochberg.
        confirmed: Build that confirmed the change; None while it is suspected.
        fixed: First build back at the old level; None if there is no such build.
        back: Consecutive nights back at the old level.
        pool: Series of the pool that shows the change, if the series by itself does not.
        pool_shift: Size of the pool's change, if any.
    """

    series: int
    direction: int
    suspected: int
    first_bad: int
    last_good: int
    base: Ints
    is_loud: bool
    is_residual: bool
    own_reaction: float
    shift: float
    errors: list[float]
    state_error: float
    p_adjusted: float
    confirmed: int | None = None
    fixed: int | None = None
    back: list[int] = field(default_factory=list)
    pool: int | None = None
    pool_shift: float = 0.0
    is_relative: bool = False
    witness_error: float = math.inf
    night_spread: float = 0.0
    state_spread: float = 0.0

    @property
    def reaction(self) -> float:
        """Factor of the state that is subtracted from the values; 0 if raw values decide."""
        return self.own_reaction * self.is_residual

    def list_nights(self, dump_count: Ints) -> Ints:
        """The nights at the new level; `dump_count` has the series' dumps in each night."""
        end = len(dump_count) if self.fixed is None else self.fixed
        nights = np.arange(self.first_bad, end)
        there: Ints = nights[dump_count[nights] > 0]
        return there


def compare_builds(
    history: SeriesHistory, pairs: Sequence[tuple[LevelChange, Ints, Ints]]
) -> SampleComparison:
    """Compare builds of changed series with other builds, by raw or residual values.

    Each change in `pairs` has the builds of the base and of the head.
    """
    series = np.array([change.series for change, _, _ in pairs], np.int64)
    reaction = np.array([change.reaction for change, _, _ in pairs])
    return compare_levels(
        history, series, reaction, [base for _, base, _ in pairs], [head for _, _, head in pairs]
    )


def compare_levels(
    history: SeriesHistory,
    series: Ints,
    reaction: Floats,
    base: Sequence[Ints],
    head: Sequence[Ints],
) -> SampleComparison:
    """Compare builds of series with other builds, by values less a reaction to the states."""
    samples = []
    for builds in (base, head):
        chosen = np.zeros((len(series), history.build_count), bool)
        row = np.repeat(np.arange(len(series)), [len(each) for each in builds])
        chosen[row, np.concatenate([np.empty(0, np.int64), *builds])] = True
        samples.append(gather_values(history, series, chosen, reaction))
    return compare_samples(*samples)


def share_of_change(level: Floats, change: LevelChange, night: int) -> float:
    """Position of a night between the levels of a change: 0 is the old level, 1 the new one.

    `level` is that of the series in each build, by the values that decide the change.
    """
    return float((level[night] - np.median(level[change.base])) / change.shift)
