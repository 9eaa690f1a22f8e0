"""Builds that were recorded apart are compared without the state of the device."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tests.support.builds import Builds
from tests.support.store_rows import Event, run_by_device

DUMPS = 10
TICKS = 100_000
NIGHT = datetime(2026, 3, 1, 22, tzinfo=UTC)
NEXT_NIGHT = NIGHT + timedelta(days=1)
SESSIONS = {("a", "b"): "residual", ("a", "a"): "raw", ("a", None): "raw", (None, None): "raw"}


def _record(builds, build, kernels, delegates=(), *, start=NIGHT, session=None, **columns):
    """Dumps of kernels and of a delegate's operators, each so many times as slow as usual."""
    generator = np.random.default_rng(len(build))
    for minute in range(DUMPS):
        time = start and start + timedelta(minutes=minute)
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
        run = {"session": session} if session else None
        builds.add_build(build, [events], captured_at=time, run=run, **columns)


# How slow kernels and operators of a delegate are in a head that was recorded the night after.
HEADS = {
    "all": ([1.15] * 6, []),
    "one more": ([0.85, 0.85 * 1.1, 0.85, 0.85, 0.85, 0.85], []),
    "one alone": ([1.0, 1.05, *[1.0] * 4], []),
    "one on a device that moved far": ([1.4, 1.4 * 1.05, *[1.4] * 4], []),
    "alike": ([1.1 * times for times in (1.0, 1.1, 1.01, 0.99, 1.005, 0.995, 1.0)], []),
    "apart": ([1.1 * times for times in (1.0, 1.1, 1.04, 0.96, 1.05, 0.95, 1.0)], []),
    "steady": ([1.02, 1.02 * 1.04, *[1.02] * 4], []),
    "delegates": ([1.2, 1.2, 1.2], [0.9, 0.9, 0.9 * 1.2, 0.9]),
    "two operators": ([1.15, 1.15], []),
    "in turns": ([1.15] * 6, []),
}


@pytest.fixture(scope="module")
def answers():
    """Rows of each device by the name of the event."""
    builds = Builds()
    builds.store.add_build("pinned", role="reference")
    for device, (kernels, delegates) in HEADS.items():
        start = NIGHT + timedelta(seconds=30) if device == "in turns" else NEXT_NIGHT
        usual = [1.0] * len(kernels), [1.0] * len(delegates)
        _record(builds, "base", *usual, device=device)
        _record(builds, "head", kernels, delegates, start=start, device=device)
    for sessions in SESSIONS:
        for build, times, session in zip(("base", "head"), (1.0, 1.1), sessions, strict=True):
            _record(
                builds, build, [times] * 4, start=None, session=session, device=str(sessions)
            )  # fmt: skip
    for build, start, times in (("base", NIGHT, 1.0), ("head", NEXT_NIGHT, 1.2)):
        for name in (build, "pinned"):
            _record(builds, name, [times] * 4, start=start, session=build, device="reference")
    for device, times in (("a", 1.2), ("b", 0.8)):
        _record(builds, "base", [1.0] * 5, device=device, pool="lab")
        head = [times, times * 1.12, *[times] * 3]
        _record(builds, "head", head, device=device, pool="lab", start=NEXT_NIGHT)
    rows = run_by_device(builds.connect(), "comparison", base="base", head="head")
    return {device: {row["event_name"]: row for row in found} for device, found in rows.items()}


def _found(rows):
    return {name for name, row in rows.items() if row["verdict"] in ("regression", "improvement")}


def _values(rows, name):
    return {row[name] for row in rows.values()}


def test_a_move_of_all_operators_is_a_run_shift_and_no_operator_change(answers):
    rows = dict(answers["all"])
    method = rows.pop("Method::execute")
    assert _values(rows, "verdict") == {"unchanged"}
    assert method["verdict"] == "explained_by_run_shift"
    assert method["frame"] == "residual"
    assert method["state_delta"] == pytest.approx(0.15, abs=0.005)
    assert method["head_ns"] == pytest.approx(method["base_ns"], rel=0.005)


def test_an_operator_that_changed_by_itself_is_found_on_a_device_that_changed_as_well(answers):
    rows = answers["one more"]
    assert _found(rows) == {"native_call_op2.out"}
    assert rows["native_call_op2.out"]["delta"] == pytest.approx(0.1, abs=0.005)


def test_the_further_the_device_moved_the_more_an_operator_must_change(answers):
    assert _found(answers["one alone"]) == {"native_call_op2.out"}
    rows = answers["one on a device that moved far"]
    assert _found(rows) == set()
    assert rows["native_call_op2.out"]["verdict"] == "inconclusive"


def test_a_change_must_stand_out_from_what_all_others_did(answers):
    assert _found(answers["alike"]) == {"native_call_op2.out"}
    assert _found(answers["apart"]) == set()


def test_values_of_a_steady_device_stay_as_they_are(answers):
    assert _values(answers["steady"], "frame") == {"raw"}
    delta = answers["steady"]["native_call_op2.out"]["delta"]
    assert delta == pytest.approx(1.02 * 1.04 - 1, abs=0.005)


def test_kernels_and_delegates_have_states_of_their_own(answers):
    rows = answers["delegates"]
    assert _found(rows) == {"op 2"}
    assert rows["native_call_op1.out"]["state_delta"] == pytest.approx(0.2, abs=0.005)
    assert rows["op 1"]["state_delta"] == pytest.approx(-0.1, abs=0.005)


def test_few_operators_or_interleaved_builds_give_no_device_state(answers):
    for device in ("two operators", "in turns"):
        assert _values(answers[device], "verdict") == {"regression"}
        assert _values(answers[device], "frame") == {"raw"}
    assert _values(answers["two operators"], "state_delta") == {None}


def test_sessions_decide_whether_untimed_builds_were_recorded_apart(answers):
    found = {sessions: _values(answers[str(sessions)], "frame") for sessions in SESSIONS}
    assert found == {sessions: {frame} for sessions, frame in SESSIONS.items()}


def test_values_relative_to_a_reference_keep_it(answers):
    assert _values(answers["reference"], "frame") == {"reference"}
    assert _values(answers["reference"], "verdict") == {"unchanged"}


def test_devices_are_judged_apart_and_pools_by_what_is_left(answers):
    assert [_found(answers[device]) for device in ("a", "b", None)] == [
        {"native_call_op2.out"},
        {"native_call_op2.out"},
        {"native_call_op2.out"},
    ]
