"""The levels, scopes and filter on top of the tracer's calls are those of the runtime's hooks."""

from __future__ import annotations

from itertools import count

import pytest

from tests.support.reference_reader import read_reference
from tracehouse import ETDumpWriter
from tracehouse.ingest.errors import FilterError, NoBlockError
from tracehouse.ingest.tracer.event_tracer import DebugLevel, DelegateOutputFilter, ProfilingLevel


def trace_method(**options):
    """Events of a block in which a method runs an operator and a delegate, and logs values."""
    writer = ETDumpWriter(clock=count().__next__, **options)
    with writer.block("Execute"), writer.profile_method("Method::execute"):
        with writer.profile("OPERATOR_CALL", instruction=3):
            with writer.profile("native_call_add.out"):
                pass
            writer.log_intermediate_output(1)
        with writer.profile("DELEGATE_CALL", instruction=4):
            with writer.profile_delegate("conv", b"fast"):
                pass
            writer.log_profiling_delegate(7, 100, 200)
            writer.log_intermediate_output_delegate(7, 2)
        writer.log_output(3)
    return read_events(writer)


def read_events(writer):
    (run,) = read_reference(writer.finish().etdump)["run_data"]
    return [event for (event,) in (member.values() for member in run.get("events", []))]


def label(event):
    if "debug_entry" in event:
        return event["debug_entry"]["int_value"]["int_val"]
    default = event.get("delegate_debug_id_str", event["delegate_debug_id_int"])
    return event.get("name", default)


METHOD = ["conv", 7, 2, "Method::execute"]
OPERATORS = ["native_call_add.out", "OPERATOR_CALL", "conv", 7, 2, "DELEGATE_CALL"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [*OPERATORS, "Method::execute"]),
        ({"profiling_level": ProfilingLevel.METHOD_ONLY}, METHOD),
        ({"debug_level": DebugLevel.PROGRAM_OUTPUTS}, [*OPERATORS, 3, "Method::execute"]),
        (
            {"debug_level": DebugLevel.INTERMEDIATE_OUTPUTS},
            [OPERATORS[0], 1, *OPERATORS[1:], 3, "Method::execute"],
        ),
    ],
    ids=["default", "method_only", "program_outputs", "intermediate_outputs"],
)
def test_levels_choose_what_scopes_and_helpers_log(options, expected):
    assert [label(event) for event in trace_method(**options)] == expected


def test_values_logged_in_a_scope_belong_to_its_instruction_at_any_level():
    for level in ProfilingLevel:
        places = {
            label(event): (event["chain_index"], event["instruction_id"])
            for event in trace_method(profiling_level=level)
        }
        assert places["conv"] == places[7] == places[2] == (0, 4)
        assert places["Method::execute"] == (-1, 0)


def test_levels_do_not_concern_the_calls_themselves():
    writer = ETDumpWriter(profiling_level=ProfilingLevel.METHOD_ONLY)
    with writer.block("Execute"):
        writer.end_profiling(writer.start_profiling("OPERATOR_CALL"))
        writer.log_evalue(1)
    assert [label(event) for event in read_events(writer)] == ["OPERATOR_CALL", 1]


def test_instruction_scopes_nest():
    writer = ETDumpWriter()
    with writer.block("Execute"):
        with writer.instruction(1):
            with writer.instruction(2, chain=5):
                writer.log_evalue(0)
            writer.log_evalue(1)
        writer.log_evalue(2)
    places = [(e["chain_index"], e["instruction_id"]) for e in read_events(writer)]
    assert places == [(5, 2), (0, 1), (2**64 - 1, 0)]


def test_scopes_that_fail_are_logged_and_left():
    writer = ETDumpWriter(clock=iter([10, 20, 21, 30]).__next__)
    with (
        pytest.raises(ZeroDivisionError),
        writer.block("Execute"),
        writer.profile("OPERATOR_CALL", instruction=3),
        writer.profile_delegate("conv"),
    ):
        raise ZeroDivisionError
    with pytest.raises(NoBlockError):
        writer.log_evalue(1)
    conv, call = read_events(writer)
    assert (conv["start_time"], conv["end_time"], conv["instruction_id"]) == (20, 21, 3)
    assert (call["start_time"], call["end_time"], call["instruction_id"]) == (10, 30, 3)


def test_clock_is_in_nanoseconds_unless_given():
    (event,) = (e for e in trace_with_default_clock() if e.get("name") == "a")
    assert 0 < event["start_time"] <= event["end_time"]


def trace_with_default_clock():
    writer = ETDumpWriter()
    with writer.block("Execute"), writer.profile("a"):
        pass
    return read_events(writer)


def test_filter_leaves_out_values_of_delegates_and_says_so():
    writer = ETDumpWriter(output_filter=DelegateOutputFilter(names=["conv.*"], ids=range(5, 9)))
    with writer.block("Execute"):
        logged = {
            delegate_id: writer.log_intermediate_output_delegate(delegate_id, 1)
            for delegate_id in ("conv_1", "a conv", 4, 5, 8, 9)
        }
        writer.log_profiling_delegate("conv_1", 0, 1)
    assert logged == {"conv_1": False, "a conv": True, 4: True, 5: False, 8: False, 9: True}
    assert [label(event) for event in read_events(writer)] == [1, 1, 1, "conv_1"]


def test_filter_of_which_a_part_is_not_set_leaves_out_all_of_that_kind():
    assert DelegateOutputFilter(ids=range(1))("name")
    assert DelegateOutputFilter(names=["name"])(0)
    assert not DelegateOutputFilter(names=["name"])("names")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["conv", "conv("]}, r"'conv\(': .*, wanted a regular expression"),
        ({"ids": range(5, 5)}, r"range\(5, 5\) is empty, wanted a range with ids, or None"),
        ({"ids": range(7, 5)}, r"range\(7, 5\) is empty"),
    ],
    ids=["regex", "empty", "backwards"],
)
def test_malformed_filter_is_refused_when_it_is_made(options, message):
    with pytest.raises(FilterError, match=message):
        DelegateOutputFilter(**options)


def test_tracer_tells_what_was_set():
    writer = ETDumpWriter()
    state = (writer.current_chain_id, writer.current_debug_handle, writer.bundled_input_index)
    assert state == (-1, 0, -1)
    writer.set_bundled_input_index(2)
    writer.set_chain_debug_handle(3, 2**32 - 1)
    with writer.instruction(7):
        assert (writer.current_chain_id, writer.current_debug_handle) == (0, 7)
    state = (writer.current_chain_id, writer.current_debug_handle, writer.bundled_input_index)
    assert state == (3, 2**32 - 1, 2)


@pytest.mark.parametrize("level", DebugLevel)
def test_intermediate_outputs_are_logged_when_the_tracer_says_so(level):
    writer = ETDumpWriter(debug_level=level)
    with writer.block("Execute"):
        writer.log_intermediate_output(1)
    assert writer.intermediate_outputs_logging_status == bool(read_events(writer))
