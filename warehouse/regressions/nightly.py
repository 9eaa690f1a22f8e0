"""One build of every series against the builds before it: the rule of a single night. Pure.

The base of a series is the dumps of its last builds that no open change has touched. A series hits
if the Mann-Whitney test finds a difference (Benjamini-Hochberg in its family), if it is as large as
counts, and if it is more than builds differ among themselves. Where a family's builds move as a
whole (clock speed, temperature), they are compared in the frame that takes that out, if it is the
quieter one for the series; what the raw values do not show at all is never called.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.regressions.history import Cells, SeriesHistory, gather_values
from warehouse.statistics.two_samples import SampleComparison, compare_samples, least_p, row_median

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_QUIETER = 0.8  # of the raw spread between builds, for the other frame to decide
_WORTH_TESTING = 0.6  # of the smallest change that counts: medians further apart are tested
_BUILDS_TO_KNOW = 8  # of a base, before which the frame without the shifts always decides
_SPLIT_SHARE = 0.25  # of the builds of a base that have two modes, for medians to say little
_FEW_DUMPS = 8


class Rules(NamedTuple):
    """The numbers behind a verdict.

    Attributes:
        base_builds: Builds whose dumps are the base, at most.
        least_builds: Builds of a base below which nothing is called.
        least_dumps: Dumps of the head below which nothing is called.
        least_base_dumps: Dumps of the base that a head of so few needs; 8 are enough else.
        q: Share of false hits accepted among hits.
        gate: How many times the error of the builds so far a hit must be.
        weak_p: p from which it is watched, without a word, for another night.
        weak_change: Share of the smallest change that counts from which it is.
        weak_gate: How many times it must be for that.
        confirm_p: p that the night after must reach by itself.
        both_p: p that all nights since the suspicion must reach together.
        fast_gate: How many times the error of two builds in a row two nights must be.
        slow_gate: How many times the error of as many builds more nights must be.
        most_nights: Nights that a series is watched at most.
    """

    base_builds: int = 8
    least_builds: int = 2
    least_dumps: int = 5
    least_base_dumps: int = 24
    q: float = 0.01
    gate: float = 3.5
    weak_p: float = 0.01
    weak_change: float = 0.7
    weak_gate: float = 1.5
    confirm_p: float = 0.05
    both_p: float = 1e-4
    fast_gate: float = 5.0
    slow_gate: float = 4.75
    most_nights: int = 4


class Status(enum.IntEnum):
    """What a night says of a series; later ones are decided after earlier ones."""

    NO_DATA = 0
    NEEDS_MORE_BUILDS = 1
    NEEDS_MORE_DUMPS = 2
    BELOW_RESOLUTION = 3
    UNCHANGED = 4
    WITHIN_BUILD_NOISE = 5
    EXPLAINED_BY_RUN_SHIFT = 6
    HIT = 7


class Base(NamedTuple):
    """What the builds before say of every series.

    Attributes:
        chosen: Builds of the base; shape (series, builds before).
        builds: How many they are.
        dumps: Their dumps.
        raw: Median of their medians; NaN without any.
        framed: The same with the family's shifts taken out.
        dump_spread: Standard deviation of dumps within builds.
        is_split: Whether dumps fall into modes.
        raw_error: How far builds have been from their bases so far, of the series and its family.
        framed_error: The same with the shifts taken out.
    """

    chosen: Mask
    builds: Ints
    dumps: Ints
    raw: Floats
    framed: Floats
    dump_spread: Floats
    is_split: Mask
    raw_error: Floats
    framed_error: Floats

    @property
    def is_framed(self) -> Mask:
        """Whether the frame without the family's shifts decides: quieter, or too early to tell."""
        quieter = self.framed_error < _QUIETER * self.raw_error
        framed: Mask = quieter | (self.builds < _BUILDS_TO_KNOW)
        return framed

    @property
    def error(self) -> Floats:
        """How far builds have been from their bases in the frame that decides."""
        error: Floats = np.where(self.is_framed, self.framed_error, self.raw_error)
        return error


class JudgedNight(NamedTuple):
    """What a night says of every series.

    Attributes:
        status: A Status.
        direction: 1 for slower, -1 for faster, of what is worth watching; else 0.
        base: What it was compared with.
        tested: Numbers of the series that were tested, ascending.
        comparison: Their comparison in the frame that decides, a row each.
        raw_shift: Their shift as it is.
        framed_shift: Their shift less that of the family.
        p_adjusted: Their p after Benjamini-Hochberg.
        family_size: Series of each one's family that could be tested.
    """

    status: Ints
    direction: Ints
    base: Base
    tested: Ints
    comparison: SampleComparison
    raw_shift: Floats
    framed_shift: Floats
    p_adjusted: Floats
    family_size: Ints


def find_base(
    history: SeriesHistory,
    cells: Cells,
    shifts: Floats,
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
    raw, framed, spread = (np.full(shape, np.nan) for _ in range(3))
    family = history.series.family
    raw[row, slot] = cells.median[row, build]
    framed[row, slot] = cells.median[row, build] - shifts[family[row], build]
    spread[row, slot] = cells.spread[row, build]
    return Base(
        chosen,
        chosen.sum(axis=1),
        np.where(chosen, cells.dump_count[:, :before], 0).sum(axis=1),
        row_median(raw),
        row_median(framed),
        row_median(spread),
        (cells.is_split[:, :before] & chosen).sum(axis=1) > _SPLIT_SHARE * chosen.sum(axis=1),
        np.full(len(chosen), np.nan),
        np.full(len(chosen), np.nan),
    )


def judge_night(
    history: SeriesHistory, cells: Cells, shifts: Floats, night: int, base: Base, rules: Rules
) -> JudgedNight:
    """Compare build number `night` of every series with its base.

    Args:
        history: The values.
        cells: Their summaries.
        shifts: Shift of each family in each build; shape (families, builds).
        night: Number of the build.
        base: What it is compared with.
        rules: The numbers that decide.
    """
    status = _eligible(history, cells, night, base, rules)
    family = history.series.family
    ready = status == Status.UNCHANGED
    size = np.bincount(family[ready], minlength=len(shifts))[family]
    small = np.array([least_p(n, m) for n, m in _sizes(base.dumps, cells.dump_count[:, night])])
    status[ready & (small > rules.q / np.maximum(size, 1))] = Status.NEEDS_MORE_DUMPS
    ready = status == Status.UNCHANGED
    moved = np.abs(cells.median[:, night] - base.raw)
    limit = _WORTH_TESTING * np.log1p(history.series.min_change)
    tested = np.flatnonzero(ready & ((moved >= limit) | base.is_split))
    raw = _compare(history, night, tested, base.chosen, np.zeros_like(shifts))
    framed = _compare(history, night, tested, base.chosen, shifts)
    is_framed = base.is_framed[tested]
    decisive = SampleComparison(
        *(np.where(is_framed, a, b) for a, b in zip(framed, raw, strict=True))
    )
    raw_p = adjust_p(raw.p, family[tested], size[tested])
    p = adjust_p(decisive.p, family[tested], size[tested])
    least = np.maximum(
        np.log1p(history.series.min_change[tested]),
        np.log1p(history.series.half_tick[tested] / np.exp(base.raw[tested])),
    )
    seen = (raw_p <= rules.q) & (np.abs(raw.shift) >= least)
    stays = (p <= rules.q) & (np.abs(decisive.shift) >= least)
    agrees = stays & (np.sign(raw.shift) == np.sign(decisive.shift))
    loud = np.abs(decisive.shift) > rules.gate * base.error[tested]
    weak = np.abs(decisive.shift) > rules.weak_gate * base.error[tested]
    watched = (
        (np.abs(raw.shift) >= least * rules.weak_change)
        & (np.abs(decisive.shift) >= least * rules.weak_change)
        & (decisive.p <= rules.weak_p)
        & (raw.p <= rules.weak_p)
        & (np.sign(raw.shift) == np.sign(decisive.shift))
        & weak
    )
    status[tested[seen & ~agrees]] = Status.EXPLAINED_BY_RUN_SHIFT
    status[tested[seen & agrees & ~loud]] = Status.WITHIN_BUILD_NOISE
    hit = seen & agrees & loud
    status[tested[hit]] = Status.HIT
    direction = np.zeros(history.series_count, np.int64)
    direction[tested[watched]] = np.sign(decisive.shift[watched]).astype(np.int64)
    return JudgedNight(
        status, direction, base, tested, decisive, raw.shift, framed.shift, p, size[tested]
    )


def _eligible(history: SeriesHistory, cells: Cells, night: int, base: Base, rules: Rules) -> Ints:
    """The status of each series before any test: UNCHANGED for those that can be tested."""
    head = cells.dump_count[:, night]
    status = np.full(history.series_count, Status.UNCHANGED, np.int64)
    with np.errstate(invalid="ignore"):
        status[~(base.raw >= history.series.floor)] = Status.BELOW_RESOLUTION
    few = (head < rules.least_dumps) | (base.dumps < _FEW_DUMPS)
    few |= (head < _FEW_DUMPS) & (base.dumps < rules.least_base_dumps)
    status[few] = Status.NEEDS_MORE_DUMPS
    status[base.builds < rules.least_builds] = Status.NEEDS_MORE_BUILDS
    status[head == 0] = Status.NO_DATA
    return status


def _sizes(base: Ints, head: Ints) -> list[tuple[int, int]]:
    return list(zip(base.tolist(), head.tolist(), strict=True))


def _compare(
    history: SeriesHistory, night: int, rows: Ints, chosen: Mask, shifts: Floats
) -> SampleComparison:
    offset = shifts[history.series.family[rows]]
    before = offset[:, : chosen.shape[1]]
    head = np.zeros((len(rows), night + 1), bool)
    head[:, night] = True
    return compare_samples(
        gather_values(history, rows, chosen[rows], before),
        gather_values(history, rows, head, offset),
    )


def adjust_p(p: Floats, family: Ints, size: Ints) -> Floats:
    """Benjamini-Hochberg in each family of `size`, of which only some have been tested.

    The others count as if their p were higher: that can only make the result larger.
    """
    order = np.lexsort((p, family))
    first = np.flatnonzero(np.diff(family[order], prepend=-1))
    count = np.diff(first, append=len(order))
    row = np.repeat(np.arange(len(first)), count)
    rank = np.arange(len(order)) - np.repeat(first, count)
    scaled = np.full((len(first), int(count.max(initial=0))), np.inf)
    scaled[row, rank] = p[order] * size[order] / (rank + 1)
    least = np.minimum.accumulate(scaled[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty(len(p))
    adjusted[order] = least[row, rank]
    return np.minimum(adjusted, 1.0)
