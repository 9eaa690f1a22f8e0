from __future__ import annotations

import statistics

import numpy as np
import pytest

from tracehouse.queries.event_blocks.blocks import Event, PerfData

RAW = [0.7, 0.1, 0.4, 0.9, 0.3]


def test_statistics_are_those_of_the_samples():
    data = PerfData(RAW)
    assert data.p50 == pytest.approx(statistics.median(RAW))
    assert (data.p10, data.p90) == pytest.approx(tuple(np.percentile(RAW, [10, 90])))
    assert (data.avg, data.min, data.max) == pytest.approx((0.48, 0.1, 0.9))


def test_statistics_follow_what_is_changed():
    data = PerfData([1.0])
    data.raw.append(3.0)
    assert data.avg == 2.0
    data.raw = [5.0]
    assert (data.p10, data.max) == (5.0, 5.0)


def test_statistics_of_nothing_are_nan():
    data = PerfData([])
    found = [data.p10, data.p50, data.p90, data.avg, data.min, data.max]
    assert np.isnan(found).all()


def test_an_event_is_made_with_the_inspectors_defaults():
    event = Event("add")
    assert (event.perf_data, event.op_types, event.debug_handles) == (None, [], None)
    assert (event.num_outputs, event.stack_traces, event.module_hierarchy) == (1, {}, {})
    assert (event.is_delegated_op, event.delegate_backend_name) == (None, None)
    assert (event.delegate_debug_metadatas, event.debug_data, event.start_time) == ([], [], None)
    assert event._instruction_id is None
    event.op_types.append("aten.add.Tensor")
    assert Event("mul").op_types == []


def test_an_event_is_shown_in_a_line_whatever_its_number_of_samples():
    event = Event("add", PerfData([float(one) for one in range(50)]), ["aten.add"])
    data = "PerfData(50 samples, p50=24.5, max=49)"
    assert repr(event) == f"Event('add', perf_data={data}, op_types=['aten.add'])"
    assert repr(Event("add", PerfData([]))) == "Event('add', perf_data=PerfData(no samples))"


def test_arguments_stand_in_the_inspectors_order():
    event = Event("e", PerfData([1.0]), ["op"], 7, [1, 2], 3, {"n": "trace"}, {"n": None}, True)
    assert (event.delegate_debug_identifier, event.debug_handles, event.num_outputs) == (
        7,
        [1, 2],
        3,
    )
    assert (event.stack_traces, event.is_delegated_op) == ({"n": "trace"}, True)


def test_events_are_equal_by_what_the_inspector_knows_of_them():
    assert Event("a", PerfData([1.0])) == Event("a", PerfData([1.0]), _kind="kernel")
    assert Event("a", PerfData([1.0])) != Event("a", PerfData([2.0]))


def test_metadata_is_parsed_of_delegated_events_alone():
    parsed = {
        is_delegated: Event(
            "e",
            is_delegated_op=is_delegated,
            _delegate_debug_metadatas=[b"a", b"b"],
            _delegate_metadata_parser=lambda raw: {"joined": b"-".join(raw)},
        ).delegate_debug_metadatas
        for is_delegated in (True, False)
    }
    assert parsed == {True: {"joined": b"a-b"}, False: [b"a", b"b"]}


def test_metadata_without_a_parser_is_kept_as_logged():
    event = Event("e", is_delegated_op=True, _delegate_debug_metadatas=[b"a"])
    assert event.delegate_debug_metadatas == event.raw_delegate_debug_metadatas == [b"a"]


def test_a_dict_of_an_event_has_the_inspectors_keys_and_lists_of_one():
    event = Event("e", PerfData([1.0, 3.0]), list("abcde"), _start_time=[5, 6])
    found = event.asdict(" (us)")
    assert [*found] == [
        "event_name", "raw", "p10 (us)", "p50 (us)", "p90 (us)", "avg (us)", "min (us)",
        "max (us)", "op_types", "delegate_debug_identifier", "stack_traces", "module_hierarchy",
        "is_delegated_op", "delegate_backend_name", "debug_data", "start_time",
    ]  # fmt: skip
    assert (found["raw"], found["avg (us)"], found["start_time"]) == ([[1.0, 3.0]], 2.0, [[5, 6]])
    assert found["op_types"] == ["['a', 'b' ... 'e'] (5 total)"]
    assert Event("e", op_types=list("abcd")).asdict()["op_types"] == [list("abcd")]
    assert Event("e").asdict()["p10"] is None


def test_a_constructed_event_gets_its_kind_from_its_name():
    assert Event("native_call_add.out").kind == "kernel"
    assert Event("7", delegate_debug_identifier=7).kind == "delegate_op"
    assert Event("", delegate_debug_identifier="VGF_EXECUTE").kind == "delegate_phase"
    assert Event("renamed", _kind="kernel").kind == "kernel"


def test_an_event_is_a_data_frame_of_one_row():
    pytest.importorskip("pandas")
    frame = Event("e", PerfData([1.0, 3.0]), ["op"]).to_dataframe(" (ms)")
    assert (len(frame), frame["avg (ms)"][0], frame["raw"][0]) == (1, 2.0, [1.0, 3.0])
    assert frame["op_types"][0] == ["op"]
