"""Runs as trace events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.corpus import CORPUS, dump_names
from tests.support.etrecord_builder import MODELS
from tests.support.strange_names import NAMES
from tests.support.timelines import Spec, allocation, event, forward, read_trace, timed_dump
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.timeline.dumps import Clocks, TimedDump, read_dump
from tracehouse.queries.timeline.perfetto import perfetto_lines
from tracehouse.queries.timeline.slices import lay_out_runs

REAL = CORPUS / "real"
BROKEN = {"real/half_portable_n1_debug", "capi/alloc_only", "capi/alloc_only_static"}
SOUND = sorted({*dump_names("real", "capi", "synthetic", "upstream")} - BROKEN)


def _trace(*dumps: TimedDump, runs: Iterable[str] = ()) -> list[dict[str, Any]]:
    shown = [lay_out_runs(dump, list(runs)) for dump in dumps]
    return read_trace("".join(perfetto_lines(shown)))


def _slices(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in events if one["ph"] == "X"}


def test_a_slice_tells_name_kind_times_in_microseconds_and_place() -> None:
    found = _slices(_trace(timed_dump(forward(1_000))))
    kernel = found["native_call_add.out"]
    assert kernel == {
        "name": "native_call_add.out", "cat": "kernel", "ph": "X", "pid": 1, "tid": 1,
        "ts": 0.012, "dur": 0.016, "args": {"run": 0, "instruction": 1, "chain": 0},
    }  # fmt: skip
    assert found["conv #1"]["cat"] == "delegate_op"
    assert found["conv #1"]["args"]["delegate_id"] == "conv #1"
    assert found["Method::execute"]["dur"] == 0.1


def test_dumps_are_processes_side_by_side_whose_named_runs_begin_together() -> None:
    events = _trace(
        timed_dump(forward(50), forward(200), label="base"),
        timed_dump(forward(7), forward(900), label="head"),
        runs=["1"],
    )
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {1: "base", 2: "head"}
    starts = [e["ts"] for e in events if e["name"] == "Method::execute"]
    assert starts == [0, 0]
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert threads == ["run 1 (forward)", "run 1 (forward)"]


def test_runs_in_turn_share_a_track_and_others_do_not() -> None:
    events = _trace(timed_dump(forward(0), forward(50), forward(100)))
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert threads == ["2 of runs 0 to 2", "run 1 (forward)"]


def test_events_that_overlap_are_on_lanes_of_their_own() -> None:
    run = [event("a", 0, 10, 1), event("b", 5, 15, 2)]
    events = _trace(timed_dump(run))
    assert [e["args"]["name"] for e in events if e["name"] == "thread_name"] == [
        "run 0 (forward)", "run 0 (forward), lane 2",
    ]  # fmt: skip
    assert _slices(events)["a"]["tid"] != _slices(events)["b"]["tid"]


def test_events_beyond_the_lanes_become_marks_with_their_duration() -> None:
    run = [event(f"e{i}", i, 200 + i, i) for i in range(100)]
    marks = [e for e in _trace(timed_dump(run)) if e["ph"] == "i"]
    assert len(marks) == 36
    assert marks[0]["args"]["duration_ns"] == 200


def test_a_run_that_failed_is_marked_where_it_stopped() -> None:
    (mark,) = [e for e in _trace(timed_dump(forward()[:-1])) if e["ph"] == "i"]
    assert (mark["name"], mark["ts"]) == ("run failed", 0.08)
    assert mark["args"] == {"run": 0, "last": "DELEGATE_CALL"}


def test_an_event_whose_duration_cannot_be_right_is_a_mark() -> None:
    run = [event("native_call_a", 1 << 40, 1 << 39, 1), event("Method::execute", 0, 1 << 41)]
    (mark,) = [e for e in _trace(timed_dump(run)) if e["ph"] == "i"]
    assert mark["name"] == "native_call_a"
    assert mark["args"]["flagged"] == "its duration cannot be right"


def test_memory_is_a_counter_per_allocator() -> None:
    run = [event("a", 0, 10), allocation(64), event("b", 12, 20)]
    counters = [e for e in _trace(timed_dump(run)) if e["ph"] == "C"]
    assert [(c["name"], c["ts"], c["args"]) for c in counters] == [
        ("allocated: arena", 0, {"bytes": 0}), ("allocated: arena", 0.01, {"bytes": 64}),
    ]  # fmt: skip


def test_metadata_of_delegates_is_shown_per_event() -> None:
    runs: list[list[Spec]] = [
        [event("", 0, 5, 1, id="conv", metadata=b'{"bytes": 3}')],
        [event("", 10, 15, 1, id="conv", metadata=b"\xff\x01")],
        [event("", 20, 25, 1, id="conv")],
    ]
    told = [e["args"].get("metadata") for e in _trace(timed_dump(*runs)) if e["ph"] == "X"]
    assert told == [{"bytes": 3}, "ff01", None]


def test_durations_in_ticks_are_shown_where_ticks_are_not_nanoseconds() -> None:
    args = _slices(_trace(timed_dump(forward(), clocks=Clocks(1e3))))["DELEGATE_CALL"]["args"]
    assert args["duration_ticks"] == 50


def test_events_of_another_clock_tell_so() -> None:
    found = _slices(_trace(timed_dump(forward(), clocks=Clocks(1.0, {"": 1.5}))))
    assert "has another clock" in found["conv #1"]["args"]["start"]
    assert (found["conv #1"]["ts"], found["conv #1"]["dur"]) == (0.04, 0.045)


def test_cycles_of_unknown_rate_are_labelled() -> None:
    events = _trace(timed_dump(forward(), clocks=Clocks(None)))
    assert [e["args"]["labels"] for e in events if e["name"] == "process_labels"] == [
        "cycles of unknown rate: 1 ns shown is 1 cycle"
    ]


def test_an_etrecord_tells_operators_modules_and_each_stack_trace_once() -> None:
    dump = read_dump(
        Source(str(REAL / "prefill_decode_portable_debug.etdp")),
        Source(str(MODELS / "prefill_decode_portable.etrecord")),
        Clocks(),
    )
    tanh = [e for e in _trace(dump) if e["name"] == "native_call_tanh.out"]
    assert tanh[0]["args"]["op_types"] == ["aten.tanh.default"]
    assert tanh[0]["args"]["modules"] == ["MethodOf"]
    assert tanh[0]["args"]["method"] == "decode"
    assert tanh[0]["args"]["debug_handles"] == [3]
    assert "models.py" in tanh[0]["args"]["stack_trace"]
    assert len(tanh) > 1
    assert not any("stack_trace" in one["args"] for one in tanh[1:])


def test_names_are_text_whatever_they_hold() -> None:
    run = [event(name, i, i + 1, i) for i, name in enumerate(NAMES)]
    text = "".join(perfetto_lines([lay_out_runs(timed_dump(run))]))
    assert text.replace("\n", "").isprintable()
    assert {e["name"] for e in read_trace(text) if e["ph"] == "X"} == set(NAMES)


def test_a_dump_without_runs_is_a_trace_without_slices() -> None:
    assert {e["ph"] for e in _trace(timed_dump())} == {"M"}


@pytest.mark.slow
def test_every_dump_of_the_corpus_is_a_trace_of_all_its_events() -> None:
    counts = {name: _timed_and_stored(name) for name in SOUND}
    assert {name: both for name, both in counts.items() if both[0] != both[1]} == {}


def _timed_and_stored(name: str) -> tuple[int, int]:
    """Events in the trace of a dump, and in its tables."""
    dump = read_dump(Source(str(CORPUS / f"{name}.etdp")), None, Clocks())
    events = _trace(dump)
    timed = [e for e in events if e["ph"] in "Xi" and e["name"] != "run failed"]
    return len(timed), dump.tables["events"].num_rows
