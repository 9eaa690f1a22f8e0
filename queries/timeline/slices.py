"""The events of some runs of a dump on one axis, with their nesting. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.producers import NS_PER_UNIT
from tracehouse.queries.timeline.dumps import Clocks, TimedDump
from tracehouse.queries.timeline.events import TimedEvent, list_events
from tracehouse.queries.timeline.nesting import Nesting, nest
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.runs import find_starts

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NS = 1 << 60  # 36 years, more than any clock can measure
_WRONG_FLAGS = ~1

MEDIAN = "median"
_MOST_DIGITS = 18  # in a run's position
_WITHIN_METHOD = {"operator_call", "kernel", "delegate_call", "delegate_op", "delegate_phase"}


def with_times_only(dump: TimedDump) -> TimedDump:
    """The dump without values that are not times, or that cannot be converted to the dump's cycles.

    Such values, and times in units of their own, mostly start at 0; so the start of a run becomes
    that of its first event on the dump's clock.
    """
    signatures = dump.tables["event_signatures"]
    units = signatures["unit"].to_pylist()
    if not any(units):
        return dump
    events, ids = dump.tables["events"], signatures["event_signature_id"].to_numpy()
    of_events = events["event_signature_id"].to_numpy()

    def is_among(wanted: list[bool]) -> NDArray[np.bool_]:
        return np.isin(of_events, ids[np.array(wanted, np.bool_)])

    known = () if dump.clocks.ns_per_tick is None else NS_PER_UNIT
    is_time = is_among([unit is None or unit in known for unit in units])
    kinds = signatures["kind"].to_pylist()
    is_own = is_among([u is None and k != "delegate_op" for u, k in zip(units, kinds, strict=True)])
    tables = _rebase_starts(dump.tables["runs"], events, is_own)
    return replace(
        dump, tables={**dump.tables, **tables, "events": tables["events"].filter(is_time)}
    )


def _rebase_starts(
    runs: pa.Table, events: pa.Table, is_own: NDArray[np.bool_]
) -> dict[str, pa.Table]:
    """Both tables with starts relative to the first of the chosen events of each run."""
    import pyarrow as pa

    of_run = events["run_index"].to_numpy()
    offsets = events["start_offset_ticks"].to_numpy().view(np.uint64)
    first = np.full(runs.num_rows, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, of_run[is_own], offsets[is_own])
    first[first == np.iinfo(np.uint64).max] = 0
    starts = [
        None if start is None else start + more
        for start, more in zip(runs["start_ticks"].to_pylist(), first.tolist(), strict=True)
    ]
    moved = np.where(is_own, offsets - first[of_run], offsets).view(np.int64)
    return {
        "runs": _with(runs, "start_ticks", pa.array(starts, runs.schema.field("start_ticks").type)),
        "events": _with(events, "start_offset_ticks", pa.array(moved)),
    }


def _with(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


@dataclass(frozen=True)
class TimedRun:
    """A run on the axis, with its events in order of start, outermost first.

    Attributes:
        index: Position of the run in the dump, from 0.
        track: Number of its track; overlapping runs have different tracks.
        rows: Rows of its events in the table of events.
        numbers: Index of each event among the dump's distinct events.
        starts_ns: Starts on the axis.
        ends_ns: Ends on the axis.
        nesting: Nesting of the events.
        is_failed: Whether the run stopped before its method ended.
    """

    index: int
    name: str | None
    track: int
    rows: list[int]
    numbers: list[int]
    starts_ns: list[int]
    ends_ns: list[int]
    nesting: Nesting
    is_failed: bool

    @property
    def end_ns(self) -> int:
        """End of the run on the axis."""
        return max(self.ends_ns)

    def self_ns(self) -> list[int]:
        """Time of each event without the events nested in it."""
        own = [end - start for start, end in zip(self.starts_ns, self.ends_ns, strict=True)]
        left = own.copy()
        for length, parent in zip(own, self.nesting.parents, strict=True):
            if parent >= 0:
                left[parent] -= length
        return [max(0, one) for one in left]


@dataclass(frozen=True)
class TimedRuns:
    """Runs of a dump on the axis.

    Attributes:
        dump: The dump.
        events: Its distinct events.
        runs: The runs with events, in order.
        is_flagged: For each row of events whether its duration is wrong.
        is_placed: For each row of events whether its start is estimated from its delegate's call.
        notes: Mismatches with its ETRecord.
    """

    dump: TimedDump
    events: Sequence[TimedEvent]
    runs: Sequence[TimedRun]
    is_flagged: Sequence[bool]
    is_placed: Sequence[bool]
    notes: Sequence[str]


def lay_out_runs(dump: TimedDump, chosen: Sequence[str] = ()) -> TimedRuns:
    """The runs of a dump on an axis.

    `chosen` are positions of runs, or MEDIAN for the run of median length as in the query
    run_timeline. Chosen runs all begin at 0, on tracks of their own. By default, all runs are
    returned at their own start times.

    Raises:
        QueryError: The dump does not have a chosen run.
    """
    dump = with_times_only(dump)
    known, notes = list_events(dump)
    numbers = _numbers(dump.tables["events"], known)
    described = list(known.values())
    try:
        times = time_events(dump.tables["events"], numbers, described, dump.clocks)
    except QueryError as error:
        raise QueryError(f"{dump.label}: {error}") from error
    layout = _Layout(dump, described, numbers, times, is_aligned=bool(chosen))
    shown = _chosen(dump, chosen, described, numbers) or range(dump.tables["runs"].num_rows)
    runs = _on_tracks([run for run in map(layout.run, shown) if run.rows])
    return TimedRuns(
        dump, described, runs, times.is_flagged.tolist(), times.is_placed.tolist(), notes
    )


def track_name(runs: Sequence[TimedRun]) -> str:
    """Name of the track of these runs, which are in order."""
    first, last = runs[0].index, runs[-1].index
    if first == last:
        return f"run {first}" + (f" ({runs[0].name})" if runs[0].name else "")
    is_whole = last - first == len(runs) - 1
    return f"runs {first} to {last}" if is_whole else f"{len(runs)} of runs {first} to {last}"


class _Layout:
    """The events of a dump, sorted by run and time."""

    def __init__(
        self,
        dump: TimedDump,
        described: Sequence[TimedEvent],
        numbers: Ints,
        times: Times,
        *,
        is_aligned: bool,
    ) -> None:
        ranks = np.array([event.rank for event in described], np.int64)[numbers]
        of_run = dump.tables["events"]["run_index"].to_numpy()
        runs = dump.tables["runs"]
        self._order = np.lexsort((numbers, ranks, -times.ends_ns, times.starts_ns, of_run))
        self._bounds = np.searchsorted(of_run[self._order], np.arange(runs.num_rows + 1)).tolist()
        offsets = run_offsets(runs, dump.clocks)
        self._offsets = [0] * len(offsets) if is_aligned else offsets
        self._names = runs["name"].to_pylist()
        self._kinds = [event.kind for event in described]
        self._numbers, self._times = numbers, times

    def run(self, index: int) -> TimedRun:
        """The run at this position, on track 0."""
        rows = self._order[self._bounds[index] : self._bounds[index + 1]]
        numbers = self._numbers[rows].tolist()
        starts = (self._times.starts_ns[rows] + self._offsets[index]).tolist()
        ends = (self._times.ends_ns[rows] + self._offsets[index]).tolist()
        kinds = {self._kinds[number] for number in numbers}
        is_failed = "method" not in kinds and not kinds.isdisjoint(_WITHIN_METHOD)
        return TimedRun(
            index, self._names[index], 0, rows.tolist(), numbers, starts, ends,
            nest(starts, ends), is_failed,
        )  # fmt: skip


def _numbers(events: pa.Table, known: Mapping[tuple[int, int], TimedEvent]) -> Ints:
    """Index of each row's distinct event; rows of equal events are adjacent."""
    run, event = (events[f"{noun}_signature_id"].to_numpy() for noun in ("run", "event"))
    firsts = find_starts([run, event])
    places = {key: number for number, key in enumerate(known)}
    keys = zip(run[firsts].tolist(), event[firsts].tolist(), strict=True)
    numbers = np.array([places[key] for key in keys], np.int64)
    return np.repeat(numbers, np.diff(np.append(firsts, len(run))))


def _chosen(
    dump: TimedDump, chosen: Sequence[str], described: Sequence[TimedEvent], numbers: Ints
) -> list[int]:
    """Positions of the chosen runs, in order.

    Raises:
        QueryError: The dump does not have a chosen run.
    """
    count = dump.tables["runs"].num_rows
    found = set()
    for one in chosen:
        is_number = one.isdecimal() and len(one) <= _MOST_DIGITS
        number = (
            _median(dump, described, numbers) if one == MEDIAN else int(one) if is_number else count
        )
        if not 0 <= number < count:
            have = f"0 to {count - 1}" if count else "none"
            raise QueryError(f"{dump.label}: run '{one}': wanted {MEDIAN} or a run; it has {have}")
        found.add(number)
    return sorted(found)


def _median(dump: TimedDump, described: Sequence[TimedEvent], numbers: Ints) -> int:
    """The run of median length, the shorter one of two.

    The length of a run is the end of its last event, without events inside delegates, which may
    have another clock, and without wrong durations.

    Raises:
        QueryError: No run has events.
    """
    events = dump.tables["events"]
    runs = events["run_index"].to_numpy()
    known = np.unique(runs)
    if not len(known):
        raise QueryError(f"{dump.label}: no run has events, so none has the median length")
    ends = sum(
        events[name].to_numpy().astype(np.float64)
        for name in ("start_offset_ticks", "duration_ticks")
    )
    is_inner = np.array(
        [event.kind == "delegate_op" or event.unit is not None for event in described], np.bool_
    )[numbers]
    longest = np.zeros(dump.tables["runs"].num_rows)
    np.maximum.at(longest, runs, np.where(is_inner | is_wrong(events), 0.0, ends))
    return int(known[np.argsort(longest[known], kind="stable")[(len(known) - 1) // 2]])


def _on_tracks(runs: Sequence[TimedRun]) -> list[TimedRun]:
    """The runs, each on the track that has been free for the longest time."""
    free: list[tuple[int, int]] = []  # end of the last run of each track
    tracks = {}
    for run in sorted(runs, key=lambda run: (run.starts_ns[0], run.index)):
        track = len(free)
        if free and free[0][0] <= run.starts_ns[0]:
            track = heapq.heappop(free)[1]
        tracks[run.index] = track
        heapq.heappush(free, (run.end_ns, track))
    return [replace(run, track=tracks[run.index]) for run in runs]


class Times(NamedTuple):
    """Times of events within their runs, one item per event.

    Attributes:
        starts_ns: Start relative to the run's first start.
        ends_ns: End; equal to the start if the duration is wrong.
        is_flagged: Whether the duration is wrong.
        is_placed: Whether the start is estimated: the event has another clock than the runtime's,
            and is placed relative to the call of its delegate.
    """

    starts_ns: Ints
    ends_ns: Ints
    is_flagged: Mask
    is_placed: Mask


def time_events(
    events: pa.Table, numbers: Ints, described: Sequence[TimedEvent], clocks: Clocks
) -> Times:
    """The times of a dump's events.

    Args:
        events: The rows of events.
        numbers: For each row, the index of its distinct event in `described`.
        described: The distinct events.
        clocks: The dump's clocks; QueryError is raised if only some of them have an unknown rate.
    """
    scales, is_other = _scales(described, clocks)
    offsets = events["start_offset_ticks"].to_numpy().view(np.uint64).astype(np.float64)
    is_flagged = is_wrong(events)
    lengths = np.where(is_flagged, 0, events["duration_ticks"].to_numpy()).astype(np.float64)
    starts, ends = offsets * scales[numbers], (offsets + lengths) * scales[numbers]
    is_placed = is_other[numbers]
    if is_placed.any():
        shift = _shifts(events, described, numbers, starts, is_placed)
        starts, ends = starts + shift, ends + shift
    return Times(_whole(starts), _whole(ends), is_flagged, is_placed)


def is_wrong(events: pa.Table) -> Mask:
    """For each row of events whether its duration is wrong."""
    wrong: Mask = (events["flags"].to_numpy() & _WRONG_FLAGS) != 0
    return wrong


def run_offsets(runs: pa.Table, clocks: Clocks) -> list[int]:
    """Start of each run relative to the first one; 0 for a run without events."""
    starts = [None if one is None else int(one) for one in runs["start_ticks"].to_pylist()]
    first = min((one for one in starts if one is not None), default=0)
    ns = 1.0 if clocks.ns_per_tick is None else clocks.ns_per_tick
    return [0 if one is None else min(round((one - first) * ns), MOST_NS) for one in starts]


def _scales(described: Sequence[TimedEvent], clocks: Clocks) -> tuple[Floats, Mask]:
    """Nanoseconds per tick of each distinct event, and whether its clock is not the runtime's.

    Raises:
        QueryError: Only some of the clocks have an unknown rate.
    """
    own = clocks.ns_per_tick
    known = [_scale(event, clocks) for event in described]
    if any((one is None) != (own is None) for one in known):
        raise QueryError(
            "one of its clocks has an unknown rate and another one does not, so they cannot share "
            "an axis; give the rate: --clock or --delegate-clock TICKS_PER_SECOND for a file, "
            "clock.ticks_per_second in the manifest of an ingested dump"
        )
    scales = np.array([1.0 if one is None else one for one in known], np.float64)
    is_other = [
        one != own or event.unit is not None for one, event in zip(known, described, strict=True)
    ]
    return scales, np.array(is_other, np.bool_)


def _scale(event: TimedEvent, clocks: Clocks) -> float | None:
    if event.unit is not None and clocks.ns_per_tick is not None:
        return NS_PER_UNIT.get(event.unit, clocks.ns_per_tick)
    if event.kind == "delegate_op":
        return clocks.of_delegate(event.origin.delegate_backend_name)
    return clocks.ns_per_tick


def _shifts(
    events: pa.Table,
    described: Sequence[TimedEvent],
    numbers: Ints,
    starts: Floats,
    is_placed: Mask,
) -> Floats:
    """Shifts that move the first event of another clock to the start of its delegate's call."""
    runs, turns = events["run_index"].to_pylist(), events["occurrence"].to_pylist()
    instructions = [event.instruction_id for event in described]
    calls: dict[tuple[int, int | None], list[float]] = {}
    firsts: dict[tuple[int, int | None, int], float] = {}
    is_call = np.array([event.kind == "delegate_call" for event in described], np.bool_)[numbers]
    for i in np.flatnonzero(is_call).tolist():
        calls.setdefault((runs[i], instructions[numbers[i]]), []).append(float(starts[i]))
    in_order = {call: sorted(set(found)) for call, found in calls.items()}
    placed = np.flatnonzero(is_placed).tolist()
    keys = []
    for i in placed:
        call = runs[i], instructions[numbers[i]]
        # Repeated events within one call belong to that call.
        turn = min(turns[i], len(in_order.get(call, [0.0])) - 1)
        keys.append((*call, turn))
    for i, key in zip(placed, keys, strict=True):
        firsts[key] = min(firsts.get(key, np.inf), float(starts[i]))
    shift = np.zeros(len(starts))
    for i, key in zip(placed, keys, strict=True):
        shift[i] = in_order.get(key[:2], [0.0])[key[2]] - firsts[key]
    return shift


def _whole(times: Floats) -> Ints:
    return np.rint(np.clip(times, 0, float(MOST_NS))).astype(np.int64)
