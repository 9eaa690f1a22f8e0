"""Samples of an event signature in an event block, and their statistics. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.statistics.percentiles import interpolate_sorted


class FlaggedSample(NamedTuple):
    """A profile event with a wrong duration, with its clock readings in ticks."""

    run_index: int
    start_time: int
    end_time: int
    reason: str


class SampleStatistics(NamedTuple):
    """The Inspector's six statistics and four more; percentiles by linear interpolation.

    `stddev` is the sample standard deviation (divided by n - 1); None for a single sample.
    """

    p10: float
    p50: float
    p90: float
    avg: float
    min: float
    max: float
    p95: float
    p99: float
    n: int
    stddev: float | None


@dataclass(frozen=True)
class Samples:
    """All profile events of one signature in an event block, in file order.

    Attributes:
        raw: Durations in the target time scale, without the flagged ones.
        start_time: Clock reading in ticks at the start of each of `raw`.
        metadata: Delegate metadata of each of `raw`, b"" if absent; empty if none has any.
        samples_per_run: Number of samples of each run in `raw`; None if no run has two.
        flagged: Events with wrong durations, which all other fields leave out.
        statistics: Statistics of `raw`; None if it is empty.
    """

    raw: list[float]
    start_time: list[int]
    metadata: list[bytes]
    samples_per_run: list[int] | None
    flagged: list[FlaggedSample]
    statistics: SampleStatistics | None

    @property
    def avg_per_run(self) -> float | None:
        """Sum of `raw` divided by the number of runs with samples; None if it is empty."""
        if self.statistics is None or self.samples_per_run is None:
            return self.statistics and self.statistics.avg
        runs = sum(count > 0 for count in self.samples_per_run)
        return self.statistics.avg * self.statistics.n / runs


def summarise(durations: NDArray[np.float64]) -> SampleStatistics:
    """The statistics of at least one duration."""
    return next(_summarise_rows(durations[None, :]))


def summarise_groups(
    durations: NDArray[np.float64], bounds: Sequence[int]
) -> list[SampleStatistics | None]:
    """The statistics of each group of durations; None for an empty group.

    Groups of one size are summarised together, as a hostile dump can have a group per event.

    Args:
        durations: The durations, group after group.
        bounds: Start of each group, and end of the last one.
    """
    starts, sizes = np.array(bounds[:-1], np.int64), np.diff(bounds)
    found: list[SampleStatistics | None] = [None] * len(starts)
    order = np.argsort(sizes, kind="stable")
    distinct, first = np.unique(sizes[order], return_index=True)
    for size, members in zip(
        distinct.tolist(), np.split(order, first[1:]), strict=bool(len(first))
    ):
        if size:
            rows = durations[starts[members][:, None] + np.arange(size)]
            for member, statistics in zip(members.tolist(), _summarise_rows(rows), strict=True):
                found[member] = statistics
    return found


def _summarise_rows(rows: NDArray[np.float64]) -> Iterator[SampleStatistics]:
    count, size = rows.shape
    ordered = np.sort(rows, axis=1)
    p10, p50, p90, p95, p99 = (
        interpolate_sorted(ordered, share).tolist() for share in (0.1, 0.5, 0.9, 0.95, 0.99)
    )
    least, most = ordered[:, 0].tolist(), ordered[:, -1].tolist()
    stddev = np.std(rows, axis=1, ddof=1).tolist() if size > 1 else [None] * count
    columns = (p10, p50, p90, np.mean(rows, axis=1).tolist(), least, most, p95, p99)
    return map(SampleStatistics, *columns, [size] * count, stddev)
