"""Dumps to put on a time axis, and a check of traces."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import timed
from tracehouse.queries.event_blocks.build import decode_tables
from tracehouse.queries.timeline.dumps import Clocks, TimedDump

Spec = dict[str, Any]
PLAIN = Clocks()
_PHASES = {"X", "i", "C", "M"}
_NAMING = {
    "process_name": {"name"}, "process_labels": {"labels"}, "process_sort_index": {"sort_index"},
    "thread_name": {"name"}, "thread_sort_index": {"sort_index"},
}  # fmt: skip


def event(name: str, start: int, end: int, instruction: int = -1, **more: Any) -> Spec:
    """A profile event; `id` and `metadata` are its delegate's."""
    names = {"id": "delegate_debug_id_str", "metadata": "delegate_debug_metadata"}
    fields = {names[key]: value for key, value in more.items() if key in names}
    chain = more.get("chain", 0 if instruction >= 0 else -1)
    return timed(name, start, end, instruction_id=instruction, chain_index=chain, **fields)


def allocation(size: int, allocator: int = 1) -> Spec:
    """An allocation event."""
    return {"allocation_event": {"allocator_id": allocator, "allocation_size": size}}


def timed_dump(*runs: Sequence[Spec], clocks: Clocks = PLAIN, label: str = "dump") -> TimedDump:
    """A dump of runs called forward, with one allocator called arena."""
    listed = [
        {"name": "forward", "events": list(run), "allocators": [{"name": "arena"}]} for run in runs
    ]
    data = build_etdump({"version": 0, "run_data": listed})
    return TimedDump(label, decode_tables(data, label), clocks)


def forward(start: int = 0, *, delegate: int = 30) -> list[Spec]:
    """A run of 100 ticks: a kernel within its call, and a delegate of one operator."""
    return [
        event("native_call_add.out", start + 12, start + 28, 1),
        event("OPERATOR_CALL", start + 10, start + 30, 1),
        event("", start + 45, start + 45 + delegate, 2, id="conv #1"),
        event("DELEGATE_CALL", start + 40, start + 90, 2),
        event("Method::execute", start, start + 100),
    ]


def read_trace(text: str) -> list[dict[str, Any]]:
    """The events of a trace that keeps to the Trace Event Format, else an AssertionError.

    https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: an object with
    a list of events; each has a phase, a process, a thread and a time in microseconds; the complete
    events of a thread are nested or do not overlap.
    """
    trace = json.loads(text, parse_constant=_fail)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert isinstance(trace["otherData"], dict)
    threads: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    named = set()
    for one in trace["traceEvents"]:
        assert one["ph"] in _PHASES
        assert isinstance(one["name"], str)
        assert isinstance(one["pid"], int)
        assert isinstance(one["tid"], int)
        assert isinstance(one["args"], dict)
        assert one["ts"] >= 0
        thread = one["pid"], one["tid"]
        if one["ph"] == "M":
            assert set(one["args"]) == _NAMING[one["name"]]
            named |= {thread} if one["name"] == "thread_name" else set()
        elif one["ph"] == "C":
            assert all(isinstance(value, int | float) for value in one["args"].values())
        else:
            assert thread in named
            assert one["ph"] == "X" or one["s"] in ("g", "p", "t")
        if one["ph"] == "X":
            start, length = round(one["ts"] * 1000), round(one["dur"] * 1000)
            assert length >= 0
            threads[thread].append((start, start + length))
    for spans in threads.values():
        _check_nesting(spans)
    events: list[dict[str, Any]] = trace["traceEvents"]
    return events


def _check_nesting(spans: list[tuple[int, int]]) -> None:
    open_until: list[int] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert not open_until or end <= open_until[-1], "slices overlap"
        open_until.append(end)


def _fail(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
