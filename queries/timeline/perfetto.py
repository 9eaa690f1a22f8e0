"""Runs as Chrome trace events, which Perfetto reads, too. Pure.

A dump is a process; a track of its runs is a thread, and so is each further lane of events that
overlap without nesting. Times are microseconds with three decimals, that is, integer nanoseconds,
rounded so that nested events stay nested. A stack trace is written only at the first event of its
kind, as files would otherwise be mostly stack traces.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tracehouse.queries.printable import json_text
from tracehouse.queries.timeline.events import event_arguments, metadata_by_event, stack_trace
from tracehouse.queries.timeline.nesting import MOST_LANES, NO_LANE
from tracehouse.queries.timeline.slices import TimedRun, TimedRuns, track_name

if TYPE_CHECKING:
    import pyarrow as pa

_LANES = MOST_LANES + 1  # the last lane is for events with NO_LANE


class AllocatedBytes(NamedTuple):
    """Memory that a run had allocated from an allocator at a time."""

    allocator: str
    at_ns: int
    total_bytes: int


def sum_allocations(
    tables: Mapping[str, pa.Table], runs: Sequence[TimedRun]
) -> dict[int, list[AllocatedBytes]]:
    """Cumulative allocations by position of the run, in file order, from 0 at the run's start.

    Runs without allocations are left out.
    """
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    others: dict[int, set[int]] = defaultdict(set)  # events of a run that are not profile events
    for row in tables["allocations"].to_pylist():
        rows[row["run_index"]].append(row)
        others[row["run_index"]].add(row["event_index"])
    if rows:
        for row in tables["debug_values"].select(["run_index", "event_index"]).to_pylist():
            others[row["run_index"]].add(row["event_index"])
    return {
        run.index: list(_sums(run, rows[run.index], sorted(others[run.index])))
        for run in runs
        if run.index in rows
    }


def _sums(
    run: TimedRun, rows: Sequence[Mapping[str, Any]], others: Sequence[int]
) -> Iterator[AllocatedBytes]:
    ends = sorted(run.ends_ns)
    sums: dict[str, int] = {}
    for row in rows:
        name = row["allocator"] or f"allocator {row['allocator_id']}"
        if name not in sums:
            yield AllocatedBytes(name, run.starts_ns[0], 0)
        sums[name] = sums.get(name, 0) + int(row["bytes"])
        before = row["event_index"] - bisect_left(others, row["event_index"])
        at = ends[min(before, len(ends)) - 1] if before else run.starts_ns[0]
        yield AllocatedBytes(name, at, sums[name])


def perfetto_lines(shown: Sequence[TimedRuns]) -> Iterator[str]:
    """A trace of these dumps, side by side, as lines of one JSON object."""
    dumps = [{"label": one.dump.label, **one.dump.facts} for one in shown]
    about = json_text({"producer": "tracehouse", "dumps": dumps})
    yield f'{{"displayTimeUnit":"ns","otherData":{about},"traceEvents":['
    before = ""
    for process, one in enumerate(shown, 1):
        for event in _Process(process, one).events():
            yield before + event
            before = ",\n"
    yield "\n]}\n"


class _Process:
    """The events of one dump's trace, each as JSON."""

    def __init__(self, number: int, shown: TimedRuns) -> None:
        self._number, self._shown = number, shown
        events = shown.dump.tables["events"]
        self._occurrences = events["occurrence"].to_pylist()
        self._chains = events["chain_index"].to_pylist()
        self._ticks = events["duration_ticks"].to_pylist()
        self._signatures = events["event_signature_id"].to_pylist()
        self._metadata = metadata_by_event(shown.dump, self._backends())
        self._allocated = sum_allocations(shown.dump.tables, shown.runs)
        self._heads = [
            f'{{"name":{json_text(event.name)},"cat":"{event.kind}","pid":{number},'
            for event in shown.events
        ]
        self._arguments = [json_text(event_arguments(event))[1:-1] for event in shown.events]
        self._traces = [stack_trace(event) for event in shown.events]
        clocks = {shown.dump.clocks.ns_per_tick, *shown.dump.clocks.delegates.values()}
        self._has_ticks = clocks != {1.0}

    def events(self) -> Iterator[str]:
        """Names of process and threads, then run after run."""
        yield self._named("process_name", self._shown.dump.label)
        if self._shown.dump.clocks.ns_per_tick is None:
            labels = "cycles of unknown rate: 1 ns shown is 1 cycle"
            yield self._named("process_labels", labels)
        yield self._meta("process_sort_index", 0, {"sort_index": self._number})
        yield from self._threads()
        for run in self._shown.runs:
            yield from self._slices(run)
            yield from self._marks(run)

    def _threads(self) -> Iterator[str]:
        by_track: dict[int, list[TimedRun]] = {}
        for run in self._shown.runs:
            by_track.setdefault(run.track, []).append(run)
        for track, runs in sorted(by_track.items()):
            lanes = sorted({lane for run in runs for lane in run.nesting.lanes})
            for lane in lanes:
                name = track_name(runs) + (f", lane {lane + 1}" if lane > 0 else "")
                thread = _thread(track, lane)
                yield self._named("thread_name", name, thread)
                yield self._meta("thread_sort_index", thread, {"sort_index": thread})

    def _slices(self, run: TimedRun) -> Iterator[str]:
        columns = (run.rows, run.numbers, run.starts_ns, run.ends_ns, run.nesting.lanes)
        for row, number, start, end, lane in zip(*columns, strict=True):
            length = end - start
            is_mark = lane == NO_LANE or self._shown.is_flagged[row]
            shape = '"ph":"i","s":"t"' if is_mark else (
                f'"ph":"X","dur":{length // 1000}.{length % 1000:03}'
            )  # fmt: skip
            yield (
                f'{self._heads[number]}{shape},"tid":{_thread(run.track, lane)},'
                f'"ts":{start // 1000}.{start % 1000:03},'
                f'"args":{{{self._details(run.index, row, number, length if is_mark else None)}}}}}'
            )

    def _details(self, run: int, row: int, number: int, length: int | None) -> str:
        """Arguments of an event, without braces; `length` is given for an event shown as a mark."""
        parts = [f'"run":{run}']
        if self._arguments[number]:
            parts.append(self._arguments[number])
        if self._chains[row] >= 0:
            parts.append(f'"chain":{self._chains[row]}')
        if self._occurrences[row]:
            parts.append(f'"occurrence":{self._occurrences[row]}')
        if self._has_ticks:
            parts.append(f'"duration_ticks":{self._ticks[row]}')
        parts += self._rare_details(run, row, number, length)
        return ",".join(parts)

    def _rare_details(self, run: int, row: int, number: int, length: int | None) -> Iterator[str]:
        if self._shown.is_placed[row]:
            yield '"start":"estimated from the call of its delegate, which has another clock"'
        if self._shown.is_flagged[row]:
            yield '"flagged":"its duration cannot be right"'
        elif length is not None:
            yield f'"overlaps":"too many others","duration_ns":{length}'
        if self._metadata:
            key = self._signatures[row], run, self._occurrences[row]
            if key in self._metadata:
                yield f'"metadata":{json_text(self._metadata[key])}'
        trace = self._traces[number]
        if trace is not None:
            self._traces[number] = None
            yield f'"stack_trace":{json_text(trace)}'

    def _marks(self, run: TimedRun) -> Iterator[str]:
        """Marks: a failed run, and allocated memory."""
        if run.is_failed:
            last = max(range(len(run.rows)), key=lambda i: run.ends_ns[i])
            arguments = {"run": run.index, "last": self._shown.events[run.numbers[last]].name}
            yield self._plain(
                "run failed", '"ph":"i","s":"t","cat":"failure"', run.end_ns, arguments,
                _thread(run.track, 0),
            )  # fmt: skip
        for one in self._allocated.get(run.index, ()):
            name = f"allocated: {one.allocator}"
            yield self._plain(name, '"ph":"C"', one.at_ns, {"bytes": one.total_bytes}, 0)

    def _plain(
        self, name: str, shape: str, at_ns: int, arguments: dict[str, Any], thread: int
    ) -> str:
        return (
            f'{{"name":{json_text(name)},{shape},"pid":{self._number},"tid":{thread},'
            f'"ts":{at_ns // 1000}.{at_ns % 1000:03},"args":{json_text(arguments)}}}'
        )

    def _named(self, what: str, name: str, thread: int = 0) -> str:
        key = "labels" if what == "process_labels" else "name"
        return self._meta(what, thread, {key: name})

    def _meta(self, what: str, thread: int, arguments: dict[str, Any]) -> str:
        head = f'{{"name":"{what}","ph":"M","pid":{self._number},"tid":{thread},'
        return f'{head}"ts":0,"args":{json_text(arguments)}}}'

    def _backends(self) -> dict[int, str | None]:
        ids = self._signatures
        return {
            ids[row]: self._shown.events[number].origin.delegate_backend_name
            for run in self._shown.runs
            for row, number in zip(run.rows, run.numbers, strict=True)
        }


def _thread(track: int, lane: int) -> int:
    return 1 + track * _LANES + (lane if lane != NO_LANE else MOST_LANES)
