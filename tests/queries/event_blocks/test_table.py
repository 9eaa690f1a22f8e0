from __future__ import annotations

import dataclasses

from tests.support.event_blocks import blocks_of, integer, logged, run, timed
from tracehouse.queries.event_blocks.table import event_block_table, pandas_cells
from tracehouse.queries.event_blocks.time_scales import TimeScale


def test_the_table_hides_operator_calls_unless_asked():
    blocks = blocks_of(run(timed("native_call_add", 0, 1), timed("OPERATOR_CALL", 0, 2)))
    few, many = (
        event_block_table(blocks, TimeScale.MS, has_framework_events=is_all)
        for is_all in (False, True)
    )
    assert few["event_name"].to_pylist() == ["native_call_add"]
    assert many["event_name"].to_pylist() == ["native_call_add", "OPERATOR_CALL"]


def test_the_table_names_its_unit_and_holds_null_where_nothing_was_timed():
    blocks = blocks_of(run(logged(integer(1), instruction_id=1, name="value")))
    [row] = event_block_table(blocks, TimeScale.S, has_framework_events=True).to_pylist()
    assert row == {
        "event_block_name": "Execute",
        "event_name": "value",
        **{f"{name} (s)": None for name in ("p10", "p50", "p90", "avg", "min", "max")},
        "op_types": [],
        "is_delegated_op": False,
        "delegate_backend_name": None,
        "start_time": None,
    }


def test_a_dump_without_runs_has_a_table_without_rows():
    table = event_block_table(blocks_of(), TimeScale.MS, has_framework_events=True)
    assert (table.num_rows, table.num_columns) == (0, 12)


def test_cells_are_spelled_as_pandas_does_and_five_operators_are_shortened():
    [block] = blocks_of(run(timed("a", 1, 2), timed("b", 3, 4)))
    events = [
        dataclasses.replace(event, op_types=list("vwxyz")[:count])
        for event, count in zip(block.events, (4, 5), strict=True)
    ]
    table = event_block_table(
        [dataclasses.replace(block, events=events)], None, has_framework_events=True
    )
    assert table["op_types"].to_pylist() == [list("vwxy"), list("vwxyz")]
    first, second = pandas_cells(table).to_pylist()
    assert (first[""], first["op_types"]) == (0, "['v', 'w', 'x', 'y']")
    assert (second[""], second["op_types"]) == (1, "['v', 'w' ... 'z'] (5 total)")
    assert (first["is_delegated_op"], first["start_time"]) == ("False", "[1]")
    assert first["p10"] == 1e-06
