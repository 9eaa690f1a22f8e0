"""Builds that were recorded apart are compared without the state of the device."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tests.support.store_rows import Event, StoreRows, run_query

RUNS = 25  # 20 are left after warm-up
DUMPS = 10
TICKS = 100_000
NIGHT = datetime(2026, 3, 1, 22, tzinfo=UTC)
NEXT_NIGHT = NIGHT + timedelta(days=1)


def _add(store, build, kernels, delegates=(), *, start=NIGHT, session=None, **columns):
    """Dumps of kernels and of a delegate's operators, each so many times as slow as usual."""
    generator = np.random.default_rng(len(build))
    for minute in range(DUMPS):
        time = start and start + timedelta(minutes=minute)
        run = {"session": session} if session else None
        number = store.add_dump(build=build, captured_at=time, run=run, **columns)
        noise = generator.normal(1, 0.002, len(kernels) + len(delegates))
        ticks = [int(TICKS * times) for times in noise * [*kernels, *delegates]]
        events = [
            Event(f"native_call_op{n}.out", own, n)
            for n, own in enumerate(ticks[: len(kernels)], start=1)
        ]
        events += [
            Event("", own, 90, delegate=f"op {n}", chain=0)
            for n, own in enumerate(ticks[len(kernels) :])
        ]
        events.append(Event("Method::execute", sum(ticks), chain=-1))
        for _ in range(RUNS):
            store.add_run(number, events)


def _compare(store):
    rows = run_query(store.connect(), "regression_deltas", base="base", head="head")
    return {row["event_name"]: row for row in rows}


def _ask(kernels, delegates=(), **head):
    """The operators of a base that is as usual, and of a head recorded the night after."""
    store = StoreRows()
    _add(store, "base", [1.0] * len(kernels), [1.0] * len(delegates))
    _add(store, "head", kernels, delegates, **{"start": NEXT_NIGHT} | head)
    return _compare(store)


def _found(rows):
    return {name for name, row in rows.items() if row["verdict"] in ("regression", "improvement")}


def test_what_moved_all_operators_is_no_change_of_them():
    rows = _ask([1.15] * 6)
    method = rows.pop("Method::execute")
    assert {row["verdict"] for row in rows.values()} == {"unchanged"}
    assert method["verdict"] == "explained_by_run_shift"
    assert method["frame"] == "residual"
    assert method["state_delta"] == pytest.approx(0.15, abs=0.005)
    assert method["head_ns"] == pytest.approx(method["base_ns"], rel=0.005)


def test_an_operator_that_changed_by_itself_is_found_on_a_device_that_changed_as_well():
    rows = _ask([0.85, 0.85 * 1.1, 0.85, 0.85, 0.85, 0.85])
    assert _found(rows) == {"native_call_op2.out"}
    assert rows["native_call_op2.out"]["delta"] == pytest.approx(0.1, abs=0.005)


@pytest.mark.slow
def test_the_further_the_device_moved_the_more_an_operator_must_change():
    assert _found(_ask([1.0, 1.05, *[1.0] * 4])) == {"native_call_op2.out"}
    rows = _ask([1.4, 1.4 * 1.05, *[1.4] * 4])
    assert _found(rows) == set()
    assert rows["native_call_op2.out"]["verdict"] == "inconclusive"


@pytest.mark.slow
def test_a_change_must_stand_out_from_what_all_others_did():
    alike = [1.1 * times for times in (1.0, 1.1, 1.01, 0.99, 1.005, 0.995, 1.0)]
    assert _found(_ask(alike)) == {"native_call_op2.out"}
    apart = [1.1 * times for times in (1.0, 1.1, 1.04, 0.96, 1.05, 0.95, 1.0)]
    assert _found(_ask(apart)) == set()


def test_values_of_a_steady_device_stay_as_they_are():
    rows = _ask([1.02, 1.02 * 1.04, *[1.02] * 4])
    assert {row["frame"] for row in rows.values()} == {"raw"}
    assert rows["native_call_op2.out"]["delta"] == pytest.approx(1.02 * 1.04 - 1, abs=0.005)


def test_kernels_and_delegates_have_states_of_their_own():
    rows = _ask([1.2, 1.2, 1.2], [0.9, 0.9, 0.9 * 1.2, 0.9])
    assert _found(rows) == {"op 2"}
    assert rows["native_call_op1.out"]["state_delta"] == pytest.approx(0.2, abs=0.005)
    assert rows["op 1"]["state_delta"] == pytest.approx(-0.1, abs=0.005)


def test_fewer_than_three_operators_tell_no_state():
    rows = _ask([1.15, 1.15])
    assert {(row["verdict"], row["frame"]) for row in rows.values()} == {("regression", "raw")}
    assert {row["state_delta"] for row in rows.values()} == {None}


def test_builds_that_were_recorded_in_turns_are_compared_as_they_are():
    rows = _ask([1.15] * 6, start=NIGHT + timedelta(seconds=30))
    assert {(row["verdict"], row["frame"]) for row in rows.values()} == {("regression", "raw")}


@pytest.mark.parametrize(
    ("sessions", "frame"),
    [(("a", "b"), "residual"), (("a", "a"), "raw"), (("a", None), "raw"), ((None, None), "raw")],
)
def test_without_times_sessions_say_whether_builds_were_recorded_apart(sessions, frame):
    store = StoreRows()
    _add(store, "base", [1.0] * 4, start=None, session=sessions[0])
    _add(store, "head", [1.1] * 4, start=None, session=sessions[1])
    assert {row["frame"] for row in _compare(store).values()} == {frame}


def test_values_relative_to_a_reference_keep_it():
    store = StoreRows()
    store.add_build("pinned", role="reference")
    for build, start, times in (("base", NIGHT, 1.0), ("head", NEXT_NIGHT, 1.2)):
        _add(store, build, [times] * 4, start=start, session=build)
        _add(store, "pinned", [times] * 4, start=start, session=build)
    rows = _compare(store)
    assert {row["frame"] for row in rows.values()} == {"reference"}
    assert {row["verdict"] for row in rows.values()} == {"unchanged"}


def test_devices_are_judged_apart_and_pools_by_what_is_left():
    store = StoreRows()
    for device, times in (("a", 1.2), ("b", 0.8)):
        _add(store, "base", [1.0] * 5, device=device, pool="lab")
        head = [times, times * 1.12, *[times] * 3]
        _add(store, "head", head, device=device, pool="lab", start=NEXT_NIGHT)
    rows = run_query(store.connect(), "comparison", base="base", head="head")
    found = {(r["level"], r["event_name"]) for r in rows if r["verdict"] == "regression"}
    assert found == {("operator", "native_call_op2.out"), ("pool", "native_call_op2.out")}
