"""Durations of a dump's profile events, cut by event block and event signature. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.tables.clocks import END_BEFORE_START
from queries.event_blocks.scales import Scale
from warehouse.statistics.percentiles import interpolate_sorted

_LAST_VALID_FLAG = 1


class FlaggedSample(NamedTuple):
    """A profile event whose duration cannot be right, with its clock readings in ticks."""

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
        metadata: Delegate metadata of each of `raw`, b"" where absent; empty if none has any.
        samples_per_run: How many of `raw` belong to each run in turn; None if no run has two.
        flagged: Events left out of everything else.
        statistics: Over `raw`; None if it is empty.
    """

    raw: list[float]
    start_time: list[int]
    metadata: list[bytes]
    samples_per_run: list[int] | None
    flagged: list[FlaggedSample]
    statistics: SampleStatistics | None

    @property
    def avg_per_run(self) -> float | None:
        """Sum of `raw` by the number of runs that have any; None if it is empty."""
        if self.statistics is None or self.samples_per_run is None:
            return self.statistics and self.statistics.avg
        runs = sum(count > 0 for count in self.samples_per_run)
        return self.statistics.avg * self.statistics.n / runs


class ProfileSamples:
    """Profile events of one dump by run signature and event signature."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        """Index the events of the decoded tables of one dump."""
        events = tables["events"]
        starts = _low_words(tables["runs"]["start_ticks"])
        self._run = events["run_index"].to_numpy()
        self._occurrence = events["occurrence"].to_numpy()
        self._chain = events["chain_index"].to_numpy()
        self._flags = events["flags"].to_numpy()
        self._duration = events["duration_ticks"].to_numpy()
        offset = events["start_offset_ticks"].to_numpy().view(np.uint64)
        self._start = starts[self._run] + offset
        self._rows = _index_groups(events)
        self._metadata = _index_metadata(tables["delegate_metadata"])

    def samples(self, block: int, event_signature_id: int, scale: Scale) -> Samples | None:
        """The samples of a signature in a block (a run signature); None if it has no events.

        `scale` turns ticks into the target time scale.
        """
        rows = self._rows.get((block, event_signature_id))
        if rows is None:
            return None
        valid = np.flatnonzero(self._flags[rows] <= _LAST_VALID_FLAG) + rows.start
        durations = scale(self._duration[valid].astype(np.float64))
        return Samples(
            raw=durations.tolist(),
            start_time=self._start[valid].tolist(),
            metadata=self._metadata_of(event_signature_id, valid),
            samples_per_run=self._samples_per_run(rows),
            flagged=self._flagged(rows),
            statistics=summarise(durations) if len(durations) else None,
        )

    def is_inside(self, block: int, event_signature_id: int) -> bool:
        """Whether the signature has events on a chain in a block, which means in the program."""
        rows = self._rows.get((block, event_signature_id), slice(0))
        return bool((self._chain[rows] >= 0).any())

    def chains(self, block: int, event_signature_id: int, run: int) -> list[int]:
        """Chains that a signature's events are on in one run of a block, sorted; none below 0.

        A debug event's chain is unsigned in the file, so a chain below 0 is never that of a profile
        event, although both mean "outside instructions".
        """
        rows = self._rows.get((block, event_signature_id), slice(0))
        first, last = np.searchsorted(self._run[rows], [run, run + 1]).tolist()
        return [
            chain for chain in sorted(set(self._chain[rows][first:last].tolist())) if chain >= 0
        ]

    def _metadata_of(self, event_signature: int, valid: NDArray[np.int64]) -> list[bytes]:
        known = self._metadata.get(event_signature)
        if known is None:
            return []
        places = zip(self._run[valid].tolist(), self._occurrence[valid].tolist(), strict=True)
        found = [known.get(place, b"") for place in places]
        return found if any(found) else []

    def _samples_per_run(self, rows: slice) -> list[int] | None:
        if not self._occurrence[rows].any():
            return None
        first_of_run = np.flatnonzero(self._occurrence[rows] == 0)
        valid = self._flags[rows] <= _LAST_VALID_FLAG
        counts: list[int] = np.add.reduceat(valid.astype(np.int64), first_of_run).tolist()
        return counts

    def _flagged(self, rows: slice) -> list[FlaggedSample]:
        found = np.flatnonzero(self._flags[rows] > _LAST_VALID_FLAG) + rows.start
        start, duration = self._start[found], self._duration[found].view(np.uint64)
        columns = (self._run[found], start, start + duration, self._flags[found])
        return [
            FlaggedSample(run, begin, end, _describe(flags))
            for run, begin, end, flags in zip(*(c.tolist() for c in columns), strict=True)
        ]


def _low_words(decimals: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Values of a column of decimals as unsigned 64-bit numbers; where null, any value."""
    chunks = [chunk for chunk in decimals.chunks if len(chunk)]
    words = [np.frombuffer(chunk.buffers()[1], np.uint64) for chunk in chunks]
    parts = [
        word[2 * chunk.offset :: 2][: len(chunk)] for word, chunk in zip(words, chunks, strict=True)
    ]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def _describe(flags: int) -> str:
    if flags & END_BEFORE_START:
        return "end before start, and not a 32-bit wrap"
    return "2^63 ticks or longer"


def _index_groups(events: pa.Table) -> dict[tuple[int, int], slice]:
    """Rows of each (run signature, event signature); they stand side by side."""
    run, event = (events[f"{noun}_signature_id"].to_numpy() for noun in ("run", "event"))
    changes = (run[1:] != run[:-1]) | (event[1:] != event[:-1])
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(run)]
    return {
        (int(run[first]), int(event[first])): slice(first, last)
        for first, last in pairwise(bounds)
        if first < last
    }


def _index_metadata(metadata: pa.Table) -> dict[int, dict[tuple[int, int], bytes]]:
    """Metadata by event signature, then by run and occurrence."""
    index: dict[int, dict[tuple[int, int], bytes]] = {}
    for row in metadata.to_pylist():
        place = row["run_index"], row["occurrence"]
        index.setdefault(row["event_signature_id"], {})[place] = row["metadata"]
    return index


def summarise(durations: NDArray[np.float64]) -> SampleStatistics:
    """The statistics of at least one duration."""
    row = np.sort(durations)[None, :]
    p10, p50, p90, p95, p99 = (
        float(interpolate_sorted(row, share)[0]) for share in (0.1, 0.5, 0.9, 0.95, 0.99)
    )
    avg, least, most, count = float(np.mean(durations)), row[0, 0], row[0, -1], len(durations)
    stddev = float(np.std(durations, ddof=1)) if count > 1 else None
    return SampleStatistics(p10, p50, p90, avg, float(least), float(most), p95, p99, count, stddev)
