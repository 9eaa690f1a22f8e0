from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from html import unescape

import pyarrow as pa
from rich.console import Console

from tracehouse import Answer
from tracehouse.cli.output.terminal import print_table
from tracehouse.cli.serve.page.answer_table import answer_table
from tracehouse.cli.serve.page.cells import Cell
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.cell_tables import html_lines, markdown_lines
from tracehouse.queries.cells import arrange_columns, columns_of, operator_names
from tracehouse.warehouse.catalogue.queries import find_query

QUERY = "build_history"
ROWS = pa.Table.from_pylist(
    [
        {
            "device": f"phone{number}", "model": "net", "backend": None, "build": f"b{number}",
            "event_name": "native_call_conv.out", "delegate_id": None, "ordinal": number,
            "dump_count": 1200 * number, "p50_ns": 1_234_567.0 * number, "p90_ns": 998.5 / number,
            "change": -0.0314 * number, "captured_at": datetime(2026, 11, 30, number, tzinfo=UTC),
            "is_new": number == 1, "tax_share": 0.01234 / number, "peak_bytes": 52_428_800 * number,
            "score": 12.3456 * number,
        }
        for number in (1, 2)
    ]
)  # fmt: skip
TEXTS = {
    "phone1", "phone2", "b1", "b2", "conv #1", "conv #2", "1,200", "2,400", "1.235 ms", "2.469 ms",
    "998.5 ns", "499.2 ns", "−3.1 %", "−6.3 %", "2026-11-30 01:00:00Z", "2026-11-30 02:00:00Z",
    "yes", "no", "1.23 %", "0.617 %", "52.43 MB", "104.9 MB", "12.35", "24.69",
}  # fmt: skip


def cells_of(html: str) -> set[str]:
    return {unescape(text) for text in re.findall(r"<td[^>]*>([^<]*)</td>", html)}


def test_one_answer_has_equal_texts_on_every_surface() -> None:
    stream = io.StringIO()
    print_table(arrange_columns(ROWS, QUERY), QUERY, console=Console(file=stream, width=400))
    terminal = {
        text
        for line in stream.getvalue().splitlines()
        for text in re.split(r"\s{2,}", line.strip())
    }
    notebook = Answer(ROWS, QUERY)._repr_html_()
    page = answer_table(Address(), find_query(QUERY).header, ROWS)
    on_page = {
        f"{cell.text} {cell.unit}".strip() if isinstance(cell, Cell) else cell
        for row in page.table.rows
        for cell in row
    }
    arranged = arrange_columns(ROWS, QUERY)
    markdown = {
        text
        for line in markdown_lines(arranged, QUERY)
        for text in line.removeprefix("| ").removesuffix(" |").split(" | ")
    }
    surfaces = {
        "terminal": terminal,
        "notebook": cells_of(notebook),
        "page": on_page,
        "markdown": markdown,
        "html": cells_of("".join(html_lines(arranged, QUERY))),
    }
    assert {name: sorted(TEXTS - texts) for name, texts in surfaces.items() if TEXTS - texts} == {}


def test_a_unit_is_that_of_the_header_and_else_that_of_the_name() -> None:
    table = pa.table({"change": [0.5], "self_ns": [1500.0], "a_share": [0.5]})
    assert [one.unit for one in columns_of(table, QUERY)] == ["change", "ns", "share"]
    assert [one.unit for one in columns_of(table)] == ["", "ns", "share"]


def test_every_header_states_the_unit_of_a_change() -> None:
    for name in ("comparison", "regression_deltas", "memory_deltas", "stability", "run_shifts"):
        columns = {column.name: column.unit for column in find_query(name).header.columns}
        found = {columns.get(one) for one in ("delta", "delta_low", "change", "shift")} - {None}
        assert found == {"change"}
    assert {c.name: c.unit for c in find_query("memory_deltas").header.columns}[
        "delta_bytes"
    ] == "bytes"


def test_operators_that_differ_in_data_types_are_told_apart_where_they_stand_together() -> None:
    ids = ["Convolution (NHWC, F32) #1", "Convolution (NHWC, F16) #1", "Add (ND, F32) #2"]
    table = pa.table({"event_name": ids, "delegate_id": ids, "ordinal": [1, 1, 1]})
    assert [str(name) for name in operator_names(table)] == [
        "Convolution (NHWC, F32) #1",
        "Convolution (NHWC, F16) #1",
        "Add #2",
    ]
    assert [str(name) for name in operator_names(table.slice(1))] == ["Convolution #1", "Add #2"]


def test_operators_without_ordinals_have_no_number_of_their_own() -> None:
    names = ["native_call_conv.out", "Add (ND) #2"]
    table = pa.table({"event_name": names, "delegate_id": [None, names[1]]})
    assert [str(name) for name in operator_names(table)] == ["conv", "Add #2"]


def test_a_value_has_the_unit_that_its_row_states() -> None:
    table = pa.table({"unit": ["ns", "mJ", None], "total": [9_457_497.0, 80.5, None]})
    arranged = arrange_columns(table, "counter_totals")
    assert arranged.to_pydict() == {"total": ["9.457 ms", "80.5 mJ", None]}
    assert [one.is_number for one in columns_of(arranged, "counter_totals")] == [True]
    page = answer_table(Address(), find_query("counter_totals").header, table)
    texts = [cell for row in page.table.rows for cell in row if isinstance(cell, Cell)]
    assert ("9.457", "ms") in [(cell.text, cell.unit) for cell in texts]
