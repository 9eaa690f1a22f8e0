from __future__ import annotations

from queries.event_block_table import event_block_table
from queries.time_scales import TimeScale
from tests.support.event_blocks import blocks_of, integer, logged, run, timed


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
