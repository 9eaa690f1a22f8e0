"""Statistics of decoded events for the store, and the one percentile rule. Pure.

Percentiles are numpy's linear interpolation between order statistics: the p-quantile of n sorted
samples lies at position (n - 1) * p. SQL's ``percentile_cont`` is the same rule. The grouped
median, for comparisons only, recovers precision lost to a coarse clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.decode import DecodedBatch
from tracehouse.ingest.schemas.fields import decoded_fields
from tracehouse.ingest.schemas.rollups import EVENT_HISTOGRAMS, EVENT_STATS
from tracehouse.ingest.tables.clocks import is_wrong
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.clock_steps import (
    CLOCKS,
    ROUNDED_STEP,
    Readings,
    estimate_steps,
    find_timers,
)
from tracehouse.warehouse.statistics.runs import find_starts
from tracehouse.warehouse.statistics.totals import has_repeats, total_events

LEAST_RUNS = 200  # Histograms of shorter dumps would be as large as their events
GAMMA = 1.01 / 0.99
ZERO = -1

WARM_UP_RUNS = 5
_INT32 = np.iinfo(np.int32)
_SHARES = {"p10": 0.10, "p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
_COLUMNS = pa.schema(decoded_fields(EVENT_STATS))
_HISTOGRAM_COLUMNS = pa.schema(decoded_fields(EVENT_HISTOGRAMS))
_Fact = TypeVar("_Fact", bound=np.generic)


class BucketCounts(NamedTuple):
    """Numbers of values, at least 1, by row and bucket."""

    row: Ints
    bucket: NDArray[np.int32]
    size: Ints


def count_buckets(rows: NDArray[np.generic]) -> BucketCounts:
    """The histogram of each row of sorted durations; shape (rows, size)."""
    bucket = find_buckets(rows)
    is_first = np.ones(rows.shape, bool)
    np.not_equal(bucket[:, 1:], bucket[:, :-1], out=is_first[:, 1:])
    first = np.flatnonzero(is_first)
    size = np.diff(first, append=rows.size)
    return BucketCounts(first // rows.shape[1], bucket.ravel()[first], size)


def find_buckets(ticks: NDArray[np.generic]) -> NDArray[np.int32]:
    """The bucket of each duration."""
    with np.errstate(divide="ignore"):  # Zero ticks have no logarithm
        exponent = np.ceil(np.log(ticks, dtype=np.float64) / math.log(GAMMA))
    bucket: NDArray[np.int32] = np.maximum(exponent, ZERO).astype(np.int32)
    return bucket


class Statistics(NamedTuple):
    """Statistics of a batch's events.

    Attributes:
        tables: Tables of `ingest.schemas.rollups.ROLLUPS` by name, with ``dump_index`` for
            ``dump_id``.
        resolution: Steps of each dump's clocks in ticks; shape (dumps, CLOCKS).
    """

    tables: dict[str, pa.Table]
    resolution: Floats


@dataclass(frozen=True)
class EventGroups:
    """Valid events of a dump, run signature and event signature side by side, in order of runs.

    Attributes:
        dump: Number of the dump, per group.
        run_signature: Id of the run signature, per group.
        signature: Id of the event signature, per group.
        first: Row of its first event, per group.
        count: Its events, at least 1, per group.
        run: Run of each event.
        duration: Duration of each event in ticks.
    """

    dump: Ints
    run_signature: Ints
    signature: Ints
    first: Ints
    count: Ints
    run: Ints
    duration: Ints


def summarise(decoded: DecodedBatch, groups: EventGroups, dump_count: int) -> Statistics:
    """Statistics of decoded dumps and their grouped events; `dump_count` includes refused dumps."""
    tables = decoded.tables
    signatures = tables["event_signatures"]
    resolution = clock_resolution(groups, signatures, dump_count)
    has_histogram = np.zeros(dump_count, bool)
    has_histogram[tables["dumps"]["dump_index"].to_numpy()] = is_long(tables["dumps"])
    steps = clock_steps(groups, signatures, resolution)
    rollups = summarise_events(groups, has_histogram, steps)
    return Statistics(rollups | total_events(decoded, dump_count), resolution)


def is_long(dumps: pa.Table) -> Mask:
    """Whether each dump has enough runs for histograms."""
    long: Mask = dumps["n_runs"].to_numpy() >= LEAST_RUNS
    return long


def group_events(events: pa.Table) -> EventGroups:
    """Group decoded events by their signatures, leaving out flagged durations."""
    names = ("dump_index", "run_signature_id", "event_signature_id")
    columns = [events[name].to_numpy() for name in (*names, "run_index", "duration_ticks")]
    wrong = is_wrong(events["flags"].to_numpy())
    if wrong.any():
        columns = [column[~wrong] for column in columns]
    first = find_starts(columns[:3])
    if has_repeats([column[first] for column in columns[:3]]):  # read back in order of runs
        order = np.lexsort([columns[place] for place in (3, 2, 1, 0)])
        columns = [column[order] for column in columns]
        first = find_starts(columns[:3])
    dump, run_signature, signature = (column[first] for column in columns[:3])
    count = np.diff(np.append(first, len(columns[0])))
    return EventGroups(dump, run_signature, signature, first, count, *columns[3:])


def summarise_events(
    groups: EventGroups, has_histogram: Mask, steps: Floats
) -> dict[str, pa.Table]:
    """Statistics of grouped events: a row of event_stats per group, in their order; and histograms.

    Args:
        groups: The events; `dump` is counted from 0.
        has_histogram: Whether each dump gets histograms; shape (dumps,).
        steps: Ticks by which the clock of each group counts; shape (groups,).
    """
    length = len(groups.first)
    stats = {field.name: np.zeros(length, field.type.to_pandas_dtype()) for field in _COLUMNS}
    stats["dump_index"][:] = groups.dump
    stats["run_signature_id"][:] = groups.run_signature
    stats["event_signature_id"][:] = groups.signature
    stats["sample_count"][:] = groups.count
    buckets: list[BucketCounts] = []
    by_size = np.argsort(groups.count, kind="stable")
    sizes, starts = np.unique(groups.count[by_size], return_index=True)
    for size, members in zip(sizes.tolist(), np.split(by_size, starts[1:]), strict=False):
        first = groups.first[members]
        samples = _rows(groups.duration, first, size)
        ordered = np.sort(samples, axis=1)
        _describe(stats, members, ordered)
        _describe_steady(stats, members, samples, _rows(groups.run, first, size), steps[members])
        long = has_histogram[groups.dump[members]]
        if long.any():
            counts = count_buckets(ordered[long])
            buckets.append(counts._replace(row=members[long][counts.row]))
    has_none = stats["steady_count"] == 0
    arrays = [
        pa.array(stats[field.name], mask=has_none if field.nullable else None) for field in _COLUMNS
    ]
    return {
        "event_stats": pa.Table.from_arrays(arrays, schema=_COLUMNS),
        "event_histograms": _histogram_rows(groups, buckets),
    }


def _describe(stats: dict[str, NDArray[Any]], members: Ints, ordered: Ints) -> None:
    """Fill in the statistics of sorted durations of groups of equal size."""
    if not ordered[:, 0].all():
        stats["zero_count"][members] = (ordered == 0).sum(axis=1)
    stats["min_ticks"][members] = ordered[:, 0]
    stats["max_ticks"][members] = ordered[:, -1]
    # A contiguous copy: numpy's piecewise sums would otherwise round depending on other groups.
    stats["sum_ticks"][members] = ordered.astype(np.float64).sum(axis=1)
    for name, share in _SHARES.items():
        stats[f"{name}_ticks"][members] = interpolate_sorted(ordered, share)


def _histogram_rows(groups: EventGroups, buckets: list[BucketCounts]) -> pa.Table:
    """Rows of event_histograms in order of the groups, of which `row` is the number."""
    if not buckets:
        return _HISTOGRAM_COLUMNS.empty_table()
    row, bucket, count = map(np.concatenate, zip(*buckets, strict=True))
    order = np.argsort(row, kind="stable")
    group = row[order]
    keys = groups.dump[group], groups.run_signature[group], groups.signature[group]
    columns = [pa.array(column) for column in (*keys, bucket[order], count[order])]
    return pa.Table.from_arrays(columns, schema=_HISTOGRAM_COLUMNS)


def clock_resolution(groups: EventGroups, signatures: pa.Table, dump_count: int) -> Floats:
    """Steps of the clocks of each dump in ticks; shape (dumps, CLOCKS)."""
    timer = _of_signatures(groups, signatures, find_timers(signatures))
    clock = np.where(timer < CLOCKS, groups.dump * CLOCKS + timer, -1)
    shortest, longest = _extremes(groups)
    varies = (clock >= 0) & (shortest < longest)
    readings = Readings(
        np.concatenate([clock[clock >= 0], clock[varies]]),
        np.concatenate([shortest[clock >= 0], longest[varies]]),
        np.concatenate([varies[clock >= 0], varies[varies]]),
    )

    def divide_all(clocks: Ints) -> Ints:
        divisor = np.zeros(dump_count * CLOCKS, np.int64)
        is_of = np.isin(clock, clocks)
        durations = groups.duration[np.repeat(is_of, groups.count)]
        first = np.cumsum(groups.count[is_of]) - groups.count[is_of]
        np.gcd.at(divisor, clock[is_of], np.gcd.reduceat(durations, first))
        return divisor[clocks]

    return estimate_steps(readings, dump_count * CLOCKS, divide_all).reshape(-1, CLOCKS)


def clock_steps(groups: EventGroups, signatures: pa.Table, resolution: Floats) -> Floats:
    """Ticks by which the clock of each group counts, given `clock_resolution`."""
    if (resolution == 1).all():  # as of most clocks
        return np.ones(len(groups.first))
    is_delegated = (signatures["kind"].to_numpy() == "delegate_op").astype(np.int64)
    steps = resolution[groups.dump, _of_signatures(groups, signatures, is_delegated)]
    has_unit = signatures["unit"].is_valid().to_numpy()
    return np.where(_of_signatures(groups, signatures, has_unit), 1.0, steps)


def _of_signatures(
    groups: EventGroups, signatures: pa.Table, facts: NDArray[_Fact]
) -> NDArray[_Fact]:
    """What is known of the event signature of each group."""
    ids = signatures["event_signature_id"].to_numpy()
    order = np.argsort(ids)
    return facts[order[np.searchsorted(ids[order], groups.signature)]]


def _extremes(groups: EventGroups) -> tuple[Ints, Ints]:
    """The shortest and the longest duration of each group."""
    if not len(groups.first):
        return groups.first, groups.first
    shortest: Ints = np.minimum.reduceat(groups.duration, groups.first)
    longest: Ints = np.maximum.reduceat(groups.duration, groups.first)
    return shortest, longest


def _rows(values: Ints, first: Ints, size: int) -> Ints:
    """Values of groups of equal size, one row per group; int32 if they fit, to sort faster."""
    if (np.diff(first) == size).all():  # adjacent, as usual
        rows = values[first[0] : first[0] + size * len(first)].reshape(-1, size)
    else:
        rows = values[first[:, None] + np.arange(size)]
    fits = rows.max() <= _INT32.max and rows.min() >= _INT32.min
    return rows.astype(np.int32) if fits else rows


def _describe_steady(
    stats: dict[str, NDArray[Any]], members: Ints, samples: Ints, run: Ints, steps: Floats
) -> None:
    """Fill in the statistics of samples after warm-up, for groups of equal size.

    The runs of a group ascend.
    """
    is_steady = np.zeros(samples.shape, bool)
    is_new = run[:, 1:] != run[:, :-1]
    if is_new.all():
        is_steady[:, WARM_UP_RUNS:] = True
    else:
        is_steady[:, 1:] = np.cumsum(is_new, axis=1) >= WARM_UP_RUNS
    first_steady = is_steady.argmax(axis=1)  # steady samples extend to the end
    for first in np.unique(first_steady[is_steady[:, -1]]).tolist():
        rows = np.flatnonzero(is_steady[:, -1] & (first_steady == first))
        ordered = np.sort(samples[rows, first:], axis=1)
        stats["steady_count"][members[rows]] = ordered.shape[1]
        stats["steady_p50_ticks"][members[rows]] = interpolate_sorted(ordered, 0.5)
        stats["steady_grouped_ticks"][members[rows]] = grouped_median(ordered, steps[rows])


def interpolate_sorted(rows: NDArray[np.generic], share: float) -> NDArray[np.float64]:
    """The quantile at `share` (0 to 1) of each row of sorted samples, at least one per row."""
    position = (rows.shape[1] - 1) * share
    low = int(position)
    high = min(low + 1, rows.shape[1] - 1)
    below, above = rows[:, low].astype(np.float64), rows[:, high].astype(np.float64)
    weight = position - low
    upper: NDArray[np.float64] = above - (above - below) * (1 - weight)
    lower: NDArray[np.float64] = below + (above - below) * weight
    return upper if weight >= 0.5 else lower


def grouped_median(rows: NDArray[np.integer[Any]], steps: NDArray[np.float64]) -> Floats:
    """The grouped median of each row of sorted durations, at least one per row; 0 or more.

    Samples of one number of steps are assumed to be spread evenly over the step, half of it to
    either side, so that the median moves when samples move from one count to the next. If half of
    the samples lie on each side between two counts, the result is the median itself.

    Args:
        rows: Durations in ticks.
        steps: Ticks by which the clock of each row counts. Durations by a clock of long steps that
            are a tick apart are of one count, which was rounded in two ways.
    """
    size = rows.shape[1]
    middle, upper = rows[:, (size - 1) // 2], rows[:, size // 2]
    rounded = (steps >= ROUNDED_STEP).astype(rows.dtype)
    lowest, highest = (middle - rounded)[:, None], (middle + rounded)[:, None]
    below = np.count_nonzero(rows < lowest, axis=1)
    at = np.count_nonzero(rows <= highest, axis=1) - below
    level = middle.astype(np.float64)
    if rounded.any():
        is_at = (rows >= lowest) & (rows <= highest)
        level += np.where(is_at, rows - middle[:, None], 0).sum(axis=1) / at
    value: Floats = level + steps * ((size / 2 - below) / at - 0.5)
    between = interpolate_sorted(rows, 0.5)
    return np.where(upper - middle <= rounded, np.maximum(value, 0), between)
