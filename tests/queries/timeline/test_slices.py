"""Runs of a dump on an axis."""

from __future__ import annotations

import pytest

from tests.support.store_rows import Event, StoreRows, run_query
from tests.support.timelines import event, forward, timed_dump
from tracehouse.queries.timeline.slices import lay_out_runs, track_name
from tracehouse.warehouse.errors import QueryError

LENGTHS = (300, 100, 200, 400)


def _dump_of_lengths():
    return timed_dump(*([event("Method::execute", 0, length)] for length in LENGTHS))


def test_events_come_by_start_and_the_outermost_first():
    (run,) = (shown := lay_out_runs(timed_dump(forward()))).runs
    names = [shown.events[number].name for number in run.numbers]
    assert names == [
        "Method::execute", "OPERATOR_CALL", "native_call_add.out", "DELEGATE_CALL", "conv #1",
    ]  # fmt: skip
    assert run.nesting.depths == [0, 1, 2, 1, 2]


def test_an_operator_call_contains_a_kernel_of_the_same_times():
    calls = [event("native_call_add.out", 5, 6, 1), event("OPERATOR_CALL", 5, 6, 1)]
    (run,) = (shown := lay_out_runs(timed_dump(calls))).runs
    assert [shown.events[number].kind for number in run.numbers] == ["operator_call", "kernel"]


def test_self_times_add_up_to_the_run():
    (run,) = lay_out_runs(timed_dump(forward())).runs
    assert run.self_ns() == [30, 4, 16, 20, 30]


def test_all_runs_keep_their_start_times():
    runs = lay_out_runs(timed_dump(forward(50), forward(200))).runs
    assert [run.starts_ns[0] for run in runs] == [0, 150]
    assert [run.track for run in runs] == [0, 0]


def test_runs_at_the_same_time_have_tracks_of_their_own():
    runs = lay_out_runs(timed_dump(forward(0), forward(50), forward(100))).runs
    assert [run.track for run in runs] == [0, 1, 0]


def test_runs_that_are_named_begin_at_0_on_tracks_of_their_own():
    runs = lay_out_runs(timed_dump(forward(50), forward(200), forward(400)), ["2", "0", "2"]).runs
    assert [(run.index, run.starts_ns[0], run.track) for run in runs] == [(0, 0, 0), (2, 0, 1)]


@pytest.mark.store
def test_the_run_of_median_length_is_that_of_the_query_run_timeline():
    (run,) = lay_out_runs(_dump_of_lengths(), ["median"]).runs
    store = StoreRows()
    number = store.add_dump()
    for length in LENGTHS:
        store.add_run(number, [Event("Method::execute", length, 0)])
    (row,) = run_query(store.connect(), "run_timeline", dump=number)
    assert run.index == row["run_index"] == 2


@pytest.mark.store
def test_the_median_is_not_of_delegates_clocks_nor_of_what_cannot_be_right():
    runs = [
        [event("Method::execute", 0, 100 * length), event("", 1 << 50, 1 << 51, 1, id="conv")]
        for length in (3, 2)
    ]
    wrong = [event("Method::execute", 0, 150), event("native_call_a", 1 << 50, 1 << 49, 1)]
    store = StoreRows()
    number = store.add_dump()
    for length in (300, 200):
        inside = Event("", 2**62, 1, "conv", start=2**62)
        store.add_run(number, [Event("Method::execute", length, 0), inside])
    flagged = Event("native_call_a", 2**62, 1, start=2**62, flags=2)
    store.add_run(number, [Event("Method::execute", 150, 0), flagged])
    (run,) = lay_out_runs(timed_dump(*runs, wrong), ["median"]).runs
    found = {row["run_index"] for row in run_query(store.connect(), "run_timeline", dump=number)}
    assert found == {1}
    assert run.index == 1


@pytest.mark.parametrize("wanted", ["4", "-1", "first", "99999999999999999999", "9" * 5_000])
def test_an_unknown_run_is_refused(wanted):
    with pytest.raises(QueryError, match=f"dump: run '{wanted}': .* it has 0 to 3"):
        lay_out_runs(_dump_of_lengths(), [wanted])


def test_a_dump_without_events_has_no_median():
    with pytest.raises(QueryError, match="dump: no run has events"):
        lay_out_runs(timed_dump([]), ["median"])
    assert lay_out_runs(timed_dump([])).runs == []


def test_a_run_that_stopped_before_its_method_ended_failed():
    load = [event("Method::init", 0, 5)]
    runs = lay_out_runs(timed_dump(load, forward(10), forward(200)[:-1])).runs
    assert [run.is_failed for run in runs] == [False, False, True]


def test_a_track_is_called_by_its_runs():
    runs = lay_out_runs(timed_dump(forward(0), forward(200), forward(400))).runs
    assert track_name(runs[:1]) == "run 0 (forward)"
    assert track_name(runs) == "runs 0 to 2"
    assert track_name([runs[0], runs[2]]) == "2 of runs 0 to 2"
