"""The rule of a single night: one build of every series against earlier builds. Pure.

The base of a series is the dumps of its last builds that no open change covers. A series hits if
three conditions hold: the Mann-Whitney test finds a difference (Benjamini-Hochberg in the family),
the difference is at least the smallest relevant change, and it exceeds the usual differences of
builds. If all operators of a family move together (clock speed, temperature), residual values,
without the state of the device, decide if they vary less than the raw ones; a change that raw
values do not show at all is not a hit. Raw or residual, an operator must stand out from the shift
of its family in the same night, and from its own reaction to that shift: if all operators moved,
the method or the device changed, not the operator. Where a reference build shows what the device
did, raw values are relative to it, and need not stand out.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from tracehouse.warehouse.regressions.baseline import Base
from tracehouse.warehouse.regressions.fleet import Cells, SeriesHistory, gather_values
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask, log_change
from tracehouse.warehouse.statistics.device_states import NO_KERNEL
from tracehouse.warehouse.statistics.runs import find_starts, places_in_runs
from tracehouse.warehouse.statistics.two_samples import (
    LEAST_DUMPS,
    SampleComparison,
    compare_samples,
    least_p,
)

HALF = 0.5  # share of a change below which a night is nearer to the old level
_SUSPICIOUS = 0.7  # share of the smallest relevant change: less is never tested
MIN_CHANGE = 0.03  # smallest relevant change, unless settings say another one


class Rules(NamedTuple):
    """The thresholds of verdicts.

    Attributes:
        base_builds: Largest number of builds in a base.
        least_builds: Fewest builds in a base for a verdict.
        least_dumps: Fewest dumps of the head for a verdict.
        least_base_dumps: Dumps of the base that such a small head needs; otherwise 8 are enough.
        q: Accepted share of false hits among hits.
        noise_multiple: Least size of a hit, as a multiple of the error of the builds so far.
        weak_p: p below which a series is silently watched for another night, which must reach it
            by itself, too.
        weak_multiple: Least size to be watched, as a multiple of that error.
        both_p: p that all nights since the suspicion must reach together.
        both_multiple: Their least size, as a multiple of the error of as many consecutive builds.
        most_nights: Most nights for which a series is watched.
    """

    base_builds: int = 16
    least_builds: int = 2
    least_dumps: int = 5
    least_base_dumps: int = 24
    q: float = 0.01
    noise_multiple: float = 3.5
    weak_p: float = 0.05
    weak_multiple: float = 1.5
    both_p: float = 1e-4
    both_multiple: float = 4.2
    most_nights: int = 4


class Status(enum.IntEnum):
    """Status of a series in a night; in order of decision."""

    NO_DATA = 0
    NEEDS_MORE_BUILDS = 1
    NEEDS_MORE_DUMPS = 2
    BELOW_RESOLUTION = 3
    UNCHANGED = 4
    WITHIN_BUILD_NOISE = 5
    EXPLAINED_BY_RUN_SHIFT = 6
    HIT = 7


class Choice(NamedTuple):
    """The series of a night that are worth a test.

    Attributes:
        status: UNCHANGED for each series that can be tested, otherwise why it cannot.
        tested: Numbers of the series to test, ascending; others are near their base.
        raw_moved: Distance of every series' median from its base; NaN if unknown.
        family_size: For each series, the number of series in its family that can be tested.
    """

    status: Ints
    tested: Ints
    raw_moved: Floats
    family_size: Ints


class NightComparison(NamedTuple):
    """The tested series of a night compared with their base, a row each.

    Attributes:
        raw: The comparison of raw values.
        residual: The comparison without the states of the device.
    """

    raw: SampleComparison
    residual: SampleComparison


class NightResult(NamedTuple):
    """The result of a night for every series.

    Attributes:
        status: A Status.
        direction: 1 for slower, -1 for faster, if worth watching; otherwise 0.
        base: The base of the comparison.
        tested: Numbers of the series that were tested, ascending.
        comparison: Comparison by the values that decide, a row per tested series.
        p_adjusted: Their p after Benjamini-Hochberg, likewise.
        is_residual: Whether each series is judged without the shift of its family.
    """

    status: Ints
    direction: Ints
    base: Base
    tested: Ints
    comparison: SampleComparison
    p_adjusted: Floats
    is_residual: Mask


def choose_series(
    history: SeriesHistory, cells: Cells, level: Floats, night: int, base: Base, rules: Rules
) -> Choice:
    """The series whose build number `night` is worth a test.

    `level` is the mean of each series' values in the night, without the states.
    """
    status = _eligible(history, cells, night, base, rules)
    family = history.series.family
    ready = status == Status.UNCHANGED
    size = np.bincount(family[ready], minlength=history.family_count)[family]
    small = least_p(base.dumps, cells.dump_count[:, night])
    status[ready & (small > rules.q / np.maximum(size, 1))] = Status.NEEDS_MORE_DUMPS
    raw_moved = cells.median[:, night] - base.raw
    limit = _SUSPICIOUS * log_change(history.series.min_change)
    far = (np.abs(raw_moved) >= limit) | (np.abs(level - base.residual) >= limit)
    tested = np.flatnonzero((status == Status.UNCHANGED) & (far | base.is_split))
    return Choice(status, tested, raw_moved, size)


def compare_night(history: SeriesHistory, night: int, tested: Ints, base: Base) -> NightComparison:
    """Compare build number `night` of some series with their base."""
    rows, count = np.append(tested, tested), len(tested)
    reaction = np.append(np.zeros(count), base.reaction[tested])
    head = np.zeros((len(rows), night + 1), bool)
    head[:, night] = True
    found = compare_samples(
        gather_values(history, rows, base.find_builds(rows), reaction),
        gather_values(history, rows, head, reaction),
    )
    raw, residual = (
        SampleComparison._make(each[half] for each in found)
        for half in (slice(count), slice(count, None))
    )
    return NightComparison(raw, residual)


def judge_night(
    history: SeriesHistory, choice: Choice, night: NightComparison, base: Base, rules: Rules
) -> NightResult:
    """The result of a night for every series; the errors of its base are known."""
    tested, raw = choice.tested, night.raw
    family, size = history.series.family[tested], choice.family_size[tested]
    raw_p = adjust_p(raw.p, family, size)
    least = np.maximum(
        log_change(history.series.min_change[tested]),
        log_change(history.series.half_tick[tested] / np.exp(base.raw[tested])),
    )
    raw_hit = (raw_p <= rules.q) & (np.abs(raw.shift) >= least)
    base = _call_witness(base, tested, night, raw_hit, least, rules)
    is_residual = base.is_residual
    decisive = SampleComparison(
        *(np.where(is_residual[tested], a, b) for a, b in zip(night.residual, raw, strict=True))
    )
    p, sign = adjust_p(decisive.p, family, size), np.sign(decisive.shift)
    has_likes = (history.series.kernel[tested] != NO_KERNEL) & ~base.is_relative[tested]
    has_likes &= ~is_residual[tested]
    peer_shift = np.where(has_likes, sign * night.residual.shift, np.inf)
    effect = np.minimum(peer_shift, np.abs(decisive.shift))
    residual_hit = (p <= rules.q) & (effect >= least)
    suspicious = (effect >= least * _SUSPICIOUS) & (decisive.p <= rules.weak_p)
    moved, error = np.abs(decisive.shift), base.error[tested]
    error = np.where(decisive.has_left, np.fmax(error, base.night_spread[tested]), error)
    error_of_state = base.error_of_state[tested]
    hits, exceeds_noise = (
        (moved > multiple * error) & (peer_shift > multiple * error_of_state)
        for multiple in (rules.noise_multiple, rules.weak_multiple)
    )
    status = choice.status.copy()
    status[tested[raw_hit & ~residual_hit]] = Status.EXPLAINED_BY_RUN_SHIFT
    status[tested[residual_hit]] = Status.WITHIN_BUILD_NOISE
    status[tested[residual_hit & hits]] = Status.HIT
    suspicious &= exceeds_noise
    direction = np.zeros(history.series_count, np.int64)
    direction[tested[suspicious]] = sign[suspicious].astype(np.int64)
    return NightResult(status, direction, base, tested, decisive, p, is_residual)


def _call_witness(
    base: Base, tested: Ints, night: NightComparison, raw_hit: Mask, least: Floats, rules: Rules
) -> Base:
    """Let raw values decide where they alone show a change beside a reference build.

    If a whole program becomes slower, the state of the device seems to have moved. The reference
    build shows that it did not.
    """
    is_shown = raw_hit & (np.abs(night.raw.shift) > rules.noise_multiple * base.raw_error[tested])
    is_shown &= base.is_relative[tested] & (np.abs(night.residual.shift) < least)
    is_witnessed = np.zeros(len(base.raw), bool)
    is_witnessed[tested[is_shown]] = True
    return base._replace(is_witnessed=is_witnessed)


def _eligible(history: SeriesHistory, cells: Cells, night: int, base: Base, rules: Rules) -> Ints:
    """The status of each series before any test: UNCHANGED if it can be tested."""
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


def adjust_p(p: Floats, family: Ints, size: Ints) -> Floats:
    """Benjamini-Hochberg in each family of `size`, of which only some series were tested.

    Untested series count as if their p were higher, which can only increase the result.
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
