"""Times of events on an axis."""

from __future__ import annotations

import pytest

from tests.support.timelines import event, forward, timed_dump
from tracehouse.queries.timeline.dumps import Clocks
from tracehouse.queries.timeline.slices import MOST_NS, TimedRuns, lay_out_runs, run_offsets
from tracehouse.warehouse.errors import QueryError


def _spans(shown: TimedRuns) -> dict[str, tuple[int, int]]:
    (run,) = shown.runs
    names = [shown.events[number].name for number in run.numbers]
    return dict(zip(names, zip(run.starts_ns, run.ends_ns, strict=True), strict=True))


def test_ticks_become_nanoseconds() -> None:
    spans = _spans(lay_out_runs(timed_dump(forward(7), clocks=Clocks(1e3))))
    assert spans["Method::execute"] == (0, 100_000)
    assert spans["native_call_add.out"] == (12_000, 28_000)
    assert spans["conv #1"] == (45_000, 75_000)


def test_fractions_of_a_nanosecond_let_no_event_stick_out_of_its_holder() -> None:
    shown = lay_out_runs(timed_dump(forward(), clocks=Clocks(1 / 3)))
    (run,) = shown.runs
    assert set(run.nesting.lanes) == {0}
    assert _spans(shown)["OPERATOR_CALL"] == (3, 10)


def test_events_of_another_clock_begin_with_the_call_of_their_delegate() -> None:
    events = forward()
    events[2] = event("", 9_000, 9_010, 2, id="conv #1")
    events.insert(3, event("", 9_015, 9_020, 2, id="relu #1"))
    shown = lay_out_runs(timed_dump(events, clocks=Clocks(1.0, {"": 2.0})))
    spans = _spans(shown)
    assert spans["conv #1"] == (40, 60)
    assert spans["relu #1"] == (70, 80)
    placed = [name for name, is_one in zip(spans, _placed(shown), strict=True) if is_one]
    assert placed == ["conv #1", "relu #1"]


def test_repeated_events_of_one_delegate_call_stay_in_order() -> None:
    run = [
        event("", 9_000, 9_001, 2, id="conv"), event("", 9_005, 9_006, 2, id="relu"),
        event("", 9_010, 9_011, 2, id="conv"), event("DELEGATE_CALL", 10, 50, 2),
        event("Method::execute", 0, 100),
    ]  # fmt: skip
    (only,) = (shown := lay_out_runs(timed_dump(run, clocks=Clocks(1.0, {"": 2.0})))).runs
    found = [
        (shown.events[number].name, start)
        for start, number in zip(only.starts_ns, only.numbers, strict=True)
    ]
    assert found[2:] == [("conv", 10), ("relu", 20), ("conv", 30)]


def test_each_call_of_a_delegate_has_its_own_events() -> None:
    run = [
        event("", 9_000, 9_001, 2, id="conv"), event("DELEGATE_CALL", 10, 20, 2),
        event("", 9_500, 9_502, 2, id="conv"), event("DELEGATE_CALL", 50, 60, 2),
        event("Method::execute", 0, 100),
    ]  # fmt: skip
    shown = lay_out_runs(timed_dump(run, clocks=Clocks(1.0, {"": 2.0})))
    (only,) = shown.runs
    found = [
        (start, end)
        for start, end, number in zip(only.starts_ns, only.ends_ns, only.numbers, strict=True)
        if shown.events[number].name == "conv"
    ]
    assert found == [(10, 12), (50, 54)]


def test_events_without_the_call_of_their_delegate_begin_with_the_run() -> None:
    run = [event("", 9_000, 9_010, 2, id="conv"), event("Method::execute", 0, 100)]
    assert _spans(lay_out_runs(timed_dump(run, clocks=Clocks(1.0, {"": 2.0}))))["conv"] == (0, 20)


def test_cycles_are_shown_as_nanoseconds() -> None:
    shown = lay_out_runs(timed_dump(forward(), clocks=Clocks(None)))
    assert _spans(shown)["Method::execute"] == (0, 100)


def test_cycles_of_one_clock_and_time_of_another_share_no_axis() -> None:
    dump = timed_dump(forward(), clocks=Clocks(1.0, {"": None}))
    with pytest.raises(QueryError, match=r"dump: one of its clocks .*--delegate-clock"):
        lay_out_runs(dump)


def test_events_whose_duration_cannot_be_right_have_none() -> None:
    run = [event("native_call_a", 1 << 40, 1 << 39, 1), event("Method::execute", 1 << 39, 1 << 41)]
    shown = lay_out_runs(timed_dump(run))
    start, end = _spans(shown)["native_call_a"]
    assert start == end == 1 << 39
    assert sum(shown.is_flagged) == 1


def test_runs_begin_as_long_after_the_first_as_they_did() -> None:
    dump = timed_dump(forward(1000), forward(1500), [], forward(900))
    assert run_offsets(dump.tables["runs"], Clocks(2.0)) == [200, 1200, 0, 0]


def test_run_offsets_stop_at_the_end_of_the_axis() -> None:
    dump = timed_dump(forward(), forward(2**63))
    assert run_offsets(dump.tables["runs"], Clocks(1e9))[1] == MOST_NS


def _placed(shown: TimedRuns) -> list[bool]:
    return [shown.is_placed[row] for row in shown.runs[0].rows]
