from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.event_blocks import blocks_of, integer, logged, run, timed
from tracehouse.queries.event_blocks.blocks import (
    Event,
    EventBlock,
    PerfData,
    event_columns,
    printed_columns,
)
from tracehouse.queries.event_blocks.module_totals import module_totals
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.queries.inspector.tensors import numpy_array, show_tensors
from tracehouse.queries.numeric_gap.logged_operators import first_logged_run

IN_FC = {"node": {"L__self__": ("", "Net"), "L__self__fc": ("fc", "torch.nn.Linear")}}


def columns_of(*events, unit=None, include_delegate_debug_data=False):
    block = EventBlock("Execute", list(events))
    return event_columns(
        [block], unit=unit, include_delegate_debug_data=include_delegate_debug_data
    )


def test_a_block_is_made_with_the_inspectors_defaults():
    block = EventBlock("Execute")
    assert (block.events, block.source_time_scale, block.target_time_scale) == (
        [], TimeScale.NS, TimeScale.MS,
    )  # fmt: skip
    assert (block.bundled_input_index, block.run_output, block.reference_output) == (None,) * 3


def test_columns_have_one_value_per_event_and_the_unit_in_their_names():
    columns = columns_of(Event("a", PerfData([2.0])), Event("b"), unit=TimeScale.US)
    assert columns["event_block_name"] == ["Execute", "Execute"]
    assert columns["event_name"] == ["a", "b"]
    assert (columns["raw"], columns["avg (us)"]) == ([[2.0], None], [2.0, None])


def test_blocks_without_events_still_have_their_columns():
    assert set(map(tuple, columns_of().values())) == {()}


def test_metadata_has_a_column_per_key_and_nan_where_there_is_none():
    columns = columns_of(
        Event("a"),
        Event("b", _delegate_debug_metadatas=[b"x"]),
        Event("c", is_delegated_op=True, _delegate_metadata_parser=lambda _: {"cycles": 5}),
        include_delegate_debug_data=True,
    )
    first, raw, parsed = columns["delegate_debug_metadata"]
    assert (raw, math.isnan(first), math.isnan(parsed)) == ([b"x"], True, True)
    assert columns["cycles"][2] == 5


def test_framework_events_and_long_columns_are_not_printed():
    columns = printed_columns(columns_of(Event("OPERATOR_CALL"), Event("a")))
    assert columns["event_name"] == ["a"]
    assert not columns.keys() & {"raw", "stack_traces", "module_hierarchy", "debug_data"}


def with_metadata(*parsed):
    return [
        Event("x", is_delegated_op=True, _delegate_metadata_parser=lambda _, one=one: one)
        for one in parsed
    ]


@pytest.mark.parametrize(
    ("parsed", "expected"),
    [
        ([{"n": 0}, {}], [0.0, math.nan]),
        ([{"n": 0}, {"n": 3}], [0, 3]),
        ([{"n": 0}, {"n": 1.5}], [0.0, 1.5]),
        ([{"n": 0, "share": 0.5}], [0.0]),
        ([{"n": 0, "name": "a"}, {"n": None}], [0.0, math.nan]),
        ([{"n": "0"}, {}], ["0", math.nan]),
        ([{"n": True}, {}], [True, math.nan]),
        ([{"n": 1}, {"n": "a"}], [1, "a"]),
    ],
)
def test_metadata_has_the_types_that_pandas_gives_its_columns(parsed, expected):
    blocks = [EventBlock("Execute", with_metadata(*parsed))]
    found = event_columns(blocks, unit=None, include_delegate_debug_data=True)["n"]
    assert list(map(repr, found)) == list(map(repr, expected))


def test_a_notebook_shows_a_block_as_a_table_in_which_names_are_escaped():
    page = EventBlock(
        "Execute", [Event("<b>", PerfData([1.5])), Event("OPERATOR_CALL")]
    )._repr_html_()
    assert page.startswith("<table><thead><tr><th>event_block_name</th><th>event_name</th>")
    assert "<td>Execute</td><td>&lt;b&gt;</td><td>1.5</td>" in page
    assert page.count("<tr>") == 2


def test_a_block_is_shown_in_a_line():
    assert repr(EventBlock("Execute", [Event("a")])) == "EventBlock('Execute', 1 event)"
    assert repr(EventBlock(None, [])) == "EventBlock(None, 0 events)"


def test_repetitions_count_for_module_totals_until_samples_are_added():
    loop = run(*(timed("native_call_a", 0, 10, instruction_id=1, chain_index=0) for _ in "123"))
    [block] = blocks_of(loop, target_time_scale=TimeScale.NS)
    [event] = block.events
    event.module_hierarchy = dict(IN_FC)
    [total] = module_totals([block], "fc")
    assert total.total == 30
    event.perf_data.raw.append(10.0)
    [total] = module_totals([block], "fc")
    assert total.total == 10


def test_a_changed_event_counts_as_changed():
    event = Event("native_call_a", PerfData([1.0]), module_hierarchy=dict(IN_FC), _instruction_id=4)
    event.perf_data.raw.append(2.0)
    event.debug_handles = (7, 8)
    event.debug_data = [np.ones(2, np.float32), [np.zeros(1)], None, 3]
    block = EventBlock("Execute", [event])
    assert module_totals([block], "fc")[0].total == 1.5
    [operator] = first_logged_run(0, block).operators
    assert (operator.debug_handles, operator.instruction_id) == ((7, 8), 4)
    assert [tensor.dtype for tensor in operator.values] == ["float32", "float64", "", "int64"]
    assert operator.values[2].missing == "missing"


def test_shown_blocks_have_arrays_and_handles_of_their_own():
    [block] = blocks_of(run(timed("a", 0, 1), logged(integer(5), instruction_id=3)))
    shared = [7, 8]
    block.events[0].debug_handles = shared
    show_tensors(block, numpy_array)
    assert block.events[1].debug_data == [5]
    assert block.events[0].debug_handles == shared
    assert block.events[0].debug_handles is not shared


def test_a_block_is_a_data_frame():
    pytest.importorskip("pandas")
    block = EventBlock("Execute", [Event(f"op_{i}", PerfData([1.0, 2.0]), ["op"]) for i in "012"])
    frame = block.to_dataframe()
    assert (len(frame), len(frame["raw"][0]), frame["op_types"][0]) == (3, 2, ["op"])
    assert "op_0" in frame["event_name"].tolist()
    assert "avg (ms)" in block.to_dataframe(include_units=True)
    assert frame["delegate_debug_identifier"].dtype == object
