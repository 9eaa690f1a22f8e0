"""The table of any answer."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.cli.serve.page.answer_table import answer_table
from tracehouse.cli.serve.page.cells import Cell
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.cells import heading
from tracehouse.warehouse.catalogue.queries import find_query

HEADER = find_query("operator_hotspots").header
ROWS = pa.table(
    {
        "device": ["phone", "phone"],
        "pool": ["lab", "lab"],
        "model": ["net", "mixed"],
        "group": pa.array([None, None], pa.string()),
        "event_name": ["native_call_relu.out", "native_call_conv.out"],
        "delegate_id": pa.array([None, None], pa.string()),
        "self_ns": [1_234_567.0, 8_000.0],
        "self_share": [0.9, 0.1],
        "untimed_count": [0, 0],
    }
)


def test_columns_without_content_are_left_out_and_the_drawn_one_comes_first() -> None:
    found = answer_table(Address(), HEADER, ROWS)
    assert [head.text for head in found.table.heads] == [
        "Operator", "Model", "Self share", "Self share, drawn", "Self time",
    ]  # fmt: skip
    assert found.common == "In all rows: device phone"
    assert found.is_drawn


def test_phones_show_the_model_below_the_operator() -> None:
    found = answer_table(Address(), HEADER, ROWS).table
    assert [head.room for head in found.heads][:3] == ["", "p2", ""]
    assert isinstance(first := found.rows[0][0], Cell)
    assert (first.text, first.under) == ("relu", "net")


def test_a_time_has_its_unit_apart_and_a_bar_its_share() -> None:
    _, _, share, bar, own = answer_table(Address(), HEADER, ROWS).table.rows[1]
    assert share == "10.0 %"
    assert isinstance(own, Cell)
    assert isinstance(bar, Cell)
    assert (own.text, own.unit) == ("8.000", "µs")
    assert 'width="11.1%"' in bar.picture


def test_a_filtered_column_is_not_repeated_above_the_table() -> None:
    assert answer_table(Address(filters={"device": ["phone"]}), HEADER, ROWS).common == ""


def test_column_names_become_readable_headings() -> None:
    assert [heading(name) for name in ("dump_count", "p99_ns", "tax_share", "total_bytes")] == [
        "Dumps", "p99", "Tax share", "Total bytes",
    ]  # fmt: skip
