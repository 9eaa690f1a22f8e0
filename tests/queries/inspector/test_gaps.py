from __future__ import annotations

import numpy as np
import pytest

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.event_blocks.blocks import Event, EventBlock
from tracehouse.queries.inspector.drop_in import gap_frame, logged_runs
from tracehouse.queries.numeric_gap.comparators import MSEComparator
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun
from tracehouse.queries.numeric_gap.reference_run import ReferenceRun
from tracehouse.queries.numeric_gap.run_values import Operator


class Recorder(MSEComparator):
    """Keeps what it is asked to compare."""

    def compare(self, mapping, aot_names, runtime_names):
        self.asked = (mapping, aot_names, runtime_names)
        return []


def reference(**values):
    """A program whose operators have the debug handles 1, 2, ... in order."""
    arrays = [np.array(value, np.float32) for value in values.values()]
    operators = [
        Operator(name, None, None, 0, (i + 1,), (), [TensorValue.of_array("float32", array)])
        for i, (name, array) in enumerate(zip(values, arrays, strict=True))
    ]
    names = {(i + 1,): [name] for i, name in enumerate(values)}
    return ReferenceRun(LoggedRun(None, "forward", operators), names, {"conv": "line 3"})


def event(name, handles, instruction, *values, **fields):
    data = [np.array(value, np.float32) for value in values]
    return Event(
        name, debug_handles=handles, debug_data=data, _instruction_id=instruction, **fields
    )


def block(*events):
    return EventBlock("Execute", list(events), method="forward")


def compared(head, **values):
    recorder = Recorder()
    gap_frame(reference(**values), logged_runs([head], None), recorder)
    mapping, *_ = recorder.asked
    return {
        (key[0], handles): (key[1].tolist(), value.tolist())
        for key, (handles, value) in mapping.items()
    }


def test_values_of_the_program_are_paired_with_those_of_events_by_debug_handle():
    head = block(event("native_call_conv", 1, 0, [1, 2]), event("native_call_relu", [2], 1, [3]))
    assert compared(head, conv=[1, 3], relu=[3]) == {
        ((1,), (1,)): ([1, 3], [1, 2]),
        ((2,), (2,)): ([3], [3]),
    }


def test_values_that_a_script_changed_are_compared():
    head = block(event("native_call_conv", 1, 0, [1, 2]))
    head.events[0].debug_data = [np.array([8, 9], np.float32)]
    assert compared(head, conv=[1, 3]) == {((1,), (1,)): ([1, 3], [8, 9])}
    head.events.append(event("native_call_relu", (2,), 1, [4]))
    assert len(compared(head, conv=[1, 3], relu=[4])) == 2


def test_the_last_event_of_a_handle_counts():
    head = block(event("native_call_a", 1, 0, [1]), event("native_call_b", 1, 1, [2]))
    assert [*compared(head, conv=[5]).values()] == [([5], [2])]


def test_framework_events_and_missing_values_are_not_compared():
    head = block(
        event("OPERATOR_CALL", 1, 0, [9]),
        event("native_call_conv", 1, 0, [1]),
        Event("native_call_relu", debug_handles=2, debug_data=[None], _instruction_id=1),
    )
    assert compared(head, conv=[1], relu=[2]) == {((1,), (1,)): ([1], [1])}


def test_empty_elements_of_lists_are_not_compared_but_other_empty_values_are():
    empty, two = np.zeros((0, 3), np.float32), np.ones((2, 3), np.float32)
    run = reference(split=[], mul=[])
    values = [TensorValue.of_array("float32", array) for array in (empty, two)]
    split, mul = run.run.operators
    operators = [split._replace(values=values), mul._replace(values=values[:1])]
    program = run._replace(run=run.run._replace(operators=operators))
    recorder = Recorder()
    head = block(
        Event("native_call_split", debug_handles=1, debug_data=[empty, two], _instruction_id=0),
        Event("native_call_mul", debug_handles=2, debug_data=[empty], _instruction_id=1),
    )
    gap_frame(program, logged_runs([head], None), recorder)
    shapes = [(handles, value.shape) for (handles, value) in recorder.asked[0]]
    assert shapes == [((1,), (2, 3)), ((2,), (0, 3))]


def test_events_of_each_debug_handle_are_named():
    recorder = Recorder()
    head = logged_runs([block(event("native_call_conv", [1], 0, [1]))], None)
    gap_frame(reference(conv=[1]), head, recorder)
    assert recorder.asked[1:] == ({(1,): ["conv"]}, {(1,): ["native_call_conv"]})


def test_rows_have_the_stack_traces_of_their_operators():
    pytest.importorskip("pandas")
    head = logged_runs(
        [block(event("native_call_conv", 1, 0, [1, 4]), event("native_call_x", 2, 1, [2]))], None
    )
    frame = gap_frame(reference(conv=[1, 2], other=[2]), head, MSEComparator())
    assert frame["gap"].tolist() == [[2.0], [0.0]]
    assert frame["stacktraces"].tolist() == [{"conv": "line 3"}, {"other": None}]
    assert [*frame.columns][-2:] == ["gap", "stacktraces"]
