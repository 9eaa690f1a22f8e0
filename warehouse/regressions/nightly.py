"""One build of every series against the builds before it: the rule of a single night. Pure.

The base of a series is the dumps of its last builds that no open change covers. A series hits if
three conditions hold: the Mann-Whitney test finds a difference (Benjamini-Hochberg in the family),
the difference is at least the smallest change that counts, and it exceeds what builds differ among
themselves. Where all operators of a family move together (clock speed, temperature), residual
values, without the state of the device, decide if they vary less than the raw ones; a change that
raw values do not show at all is no hit. Raw or residual, an operator must stand out from the shift
of its family in the same night, and from its own reaction to that shift: if all operators moved,
the method or the device changed, not the operator.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from warehouse.regressions.baseline import Base
from warehouse.regressions.history import Cells, SeriesHistory, gather_values
from warehouse.regressions.mode_shares import WATCHED_P
from warehouse.statistics.arrays import Floats, Ints, Mask
from warehouse.statistics.device_states import NO_KERNEL
from warehouse.statistics.runs import find_starts, places_in_runs
from warehouse.statistics.sample_sizes import LEAST_DUMPS
from warehouse.statistics.two_samples import SampleComparison, compare_samples, least_p

_WORTH_TESTING = (
    0.6  # of the smallest change that counts: series whose medians differ by more are tested
)


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
        both_gate: How many times the error of as many builds in a row they must be.
        most_nights: Nights that a series is watched at most.
    """

    base_builds: int = 16
    least_builds: int = 2
    least_dumps: int = 5
    least_base_dumps: int = 24
    q: float = 0.01
    gate: float = 3.5
    weak_p: float = 0.02
    weak_change: float = 0.7
    weak_gate: float = 1.5
    confirm_p: float = 0.05
    both_p: float = 1e-4
    both_gate: float = 4.2
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


class NightComparison(NamedTuple):
    """The values of a night beside those of its base.

    Attributes:
        status: UNCHANGED for each series that can be tested, else why it cannot.
        tested: Numbers of the series that were tested, ascending; others are near their base.
        raw: The comparison of those as they are, a row each.
        residual: The same without the states of the device.
        decisive: Of raw or residual values, whichever decide.
        raw_moved: How far every series is from its base; NaN if unknown.
        family_size: Series of each one's family that can be tested.
    """

    status: Ints
    tested: Ints
    raw: SampleComparison
    residual: SampleComparison
    decisive: SampleComparison
    raw_moved: Floats
    family_size: Ints


class NightResult(NamedTuple):
    """What a night says of every series.

    Attributes:
        status: A Status.
        direction: 1 for slower, -1 for faster, of what is worth watching; else 0.
        base: What it was compared with.
        tested: Numbers of the series that were tested, ascending.
        comparison: Their comparison by the values that decide, a row each.
        p_adjusted: Their p after Benjamini-Hochberg.
        is_residual: Whether each series is judged without the shift of its family.
    """

    status: Ints
    direction: Ints
    base: Base
    tested: Ints
    comparison: SampleComparison
    p_adjusted: Floats
    is_residual: Mask


def compare_night(
    history: SeriesHistory, cells: Cells, level: Floats, night: int, base: Base, rules: Rules
) -> NightComparison:
    """Compare build number `night` of every series with its base.

    Args:
        history: The values.
        cells: Their summaries.
        level: Mean of the values of each series in the night, the states taken out.
        night: Number of the build.
        base: What it is compared with.
        rules: The numbers that decide.
    """
    status = _eligible(history, cells, night, base, rules)
    family = history.series.family
    ready = status == Status.UNCHANGED
    size = np.bincount(family[ready], minlength=history.family_count)[family]
    small = least_p(base.dumps, cells.dump_count[:, night])
    status[ready & (small > rules.q / np.maximum(size, 1))] = Status.NEEDS_MORE_DUMPS
    ready = status == Status.UNCHANGED
    raw_moved = cells.median[:, night] - base.raw
    residual_moved = level - base.residual
    limit = _WORTH_TESTING * np.log1p(history.series.min_change)
    far = (np.abs(raw_moved) >= limit) | (np.abs(residual_moved) >= limit)
    tested = np.flatnonzero(ready & (far | base.is_split))
    raw = _compare(history, night, tested, base.chosen, np.zeros(len(tested)))
    residual = _compare(history, night, tested, base.chosen, base.reaction[tested])
    raw_moved[tested] = raw.shift
    is_residual = base.is_residual[tested]
    decisive = SampleComparison(
        *(np.where(is_residual, a, b) for a, b in zip(residual, raw, strict=True))
    )
    return NightComparison(status, tested, raw, residual, decisive, raw_moved, size)


def judge_night(
    history: SeriesHistory, night: NightComparison, base: Base, rules: Rules
) -> NightResult:
    """What a night says of every series.

    Args:
        history: The values.
        night: The night beside its base.
        base: What it was compared with.
        rules: The numbers that decide.
    """
    tested, raw, decisive = night.tested, night.raw, night.decisive
    family, size = history.series.family[tested], night.family_size[tested]
    raw_p, p = adjust_p(raw.p, family, size), adjust_p(decisive.p, family, size)
    least = np.maximum(
        np.log1p(history.series.min_change[tested]),
        np.log1p(history.series.half_tick[tested] / np.exp(base.raw[tested])),
    )
    way = np.sign(decisive.shift)
    is_residual = base.is_residual
    has_likes = (history.series.kernel[tested] != NO_KERNEL) & ~is_residual[tested]
    beside = np.where(has_likes, way * night.residual.shift, np.inf)
    own = np.minimum(beside, np.abs(decisive.shift))
    seen = (raw_p <= rules.q) & (np.abs(raw.shift) >= least)
    agrees = (p <= rules.q) & (own >= least)
    watched = (own >= least * rules.weak_change) & (decisive.p <= rules.weak_p)
    moved, error = np.abs(decisive.shift), base.error[tested]
    error_of_state = base.error_of_state[tested]
    hits, stands_out = (
        (moved > gate * error) & (beside > gate * error_of_state)
        for gate in (rules.gate, rules.weak_gate)
    )
    status = night.status.copy()
    status[tested[seen & ~agrees]] = Status.EXPLAINED_BY_RUN_SHIFT
    status[tested[agrees]] = Status.WITHIN_BUILD_NOISE
    status[tested[agrees & hits]] = Status.HIT
    watched &= stands_out
    direction = np.zeros(history.series_count, np.int64)
    direction[tested[watched]] = way[watched].astype(np.int64)
    return NightResult(status, direction, base, tested, decisive, p, is_residual)


def find_other_shares(night: NightResult) -> Ints:
    """Which way the share of slow dumps may have moved: 1 for more, -1 for fewer, else 0.

    Only series that are not watched for another reason count.
    """
    found = night.comparison
    with np.errstate(invalid="ignore"):
        way = np.sign(np.nan_to_num(found.head_slow - found.base_slow)).astype(np.int64)
    is_other = (found.share_p <= WATCHED_P) & (night.direction[night.tested] == 0)
    ways = np.zeros(len(night.status), np.int64)
    ways[night.tested[is_other]] = way[is_other]
    return ways


def _eligible(history: SeriesHistory, cells: Cells, night: int, base: Base, rules: Rules) -> Ints:
    """The status of each series before any test: UNCHANGED for those that can be tested."""
    head = cells.dump_count[:, night]
    status = np.full(history.series_count, Status.UNCHANGED, np.int64)
    with np.errstate(invalid="ignore"):
        status[~(base.raw >= history.series.floor)] = Status.BELOW_RESOLUTION
    few = (head < rules.least_dumps) | (base.dumps < LEAST_DUMPS)
    few |= (head < LEAST_DUMPS) & (base.dumps < rules.least_base_dumps)
    status[few] = Status.NEEDS_MORE_DUMPS
    status[base.builds < rules.least_builds] = Status.NEEDS_MORE_BUILDS
    status[head == 0] = Status.NO_DATA
    return status


def _compare(
    history: SeriesHistory, night: int, rows: Ints, chosen: Mask, reaction: Floats
) -> SampleComparison:
    head = np.zeros((len(rows), night + 1), bool)
    head[:, night] = True
    return compare_samples(
        gather_values(history, rows, chosen[rows], reaction),
        gather_values(history, rows, head, reaction),
    )


def adjust_p(p: Floats, family: Ints, size: Ints) -> Floats:
    """Benjamini-Hochberg in each family of `size`, of which only some have been tested.

    The others count as if their p were higher: that can only make the result larger.
    """
    order = np.lexsort((p, family))
    count = np.diff(find_starts([family[order]]), append=len(order))
    row, rank = np.repeat(np.arange(len(count)), count), places_in_runs(count)
    scaled = np.full((len(count), int(count.max(initial=0))), np.inf)
    scaled[row, rank] = p[order] * size[order] / (rank + 1)
    least = np.minimum.accumulate(scaled[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty(len(p))
    adjusted[order] = least[row, rank]
    return np.minimum(adjusted, 1.0)
