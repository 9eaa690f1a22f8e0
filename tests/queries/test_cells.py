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
from tracehouse.queries.cells import arrange_columns, columns_of, lift_constants, operator_names
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
    "yes", "no", "1.2 %", "0.62 %", "52.43 MB", "104.9 MB", "12.35", "24.69",
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


def test_shares_have_one_decimal_or_two_if_they_are_small() -> None:
    (column,) = columns_of(pa.table({"self_share": [0.5]}))
    shares = (0.0, 1e-6, 0.000834, 0.0095, 0.24, 0.9999, 1.0, 75.2)
    assert [column.text(share) for share in shares] == [
        "0 %", "<0.01 %", "0.08 %", "0.95 %", "24.0 %", "100 %", "100 %", "7,520 %",
    ]  # fmt: skip


def test_what_all_rows_have_in_common_stands_once_above_them_on_every_surface() -> None:
    same = {"device": "phone", "backend": None, "dump_count": 8, "is_new": False}
    rows = pa.Table.from_pylist([{**same, "build": f"b{n}", "p50_ns": 1e6 * n} for n in (1, 2)])
    said = "In all rows: device phone, dumps 8"
    stream = io.StringIO()
    print_table(arrange_columns(rows, QUERY), QUERY, console=Console(file=stream, width=80))
    page = answer_table(Address(), find_query(QUERY).header, rows)
    assert stream.getvalue().splitlines()[:2] == [said, "build       p50"]
    assert Answer(rows, QUERY)._repr_html_().startswith(f"<p>{said}</p>")
    assert page.common == said
    assert [head.text for head in page.table.heads] == ["Build", "p50"]
    assert lift_constants(rows.slice(0, 1), QUERY) == ("", rows.slice(0, 1))
    assert (
        lift_constants(rows, QUERY, but=["device"])[0]
        == "In all rows: backend –, dumps 8, is new no"
    )


def test_one_column_is_left_where_all_rows_are_alike() -> None:
    said, left = lift_constants(pa.table({"a": [1, 1], "b_ns": [2, 2]}))
    assert (said, left.column_names) == ("In all rows: b 2 ns", ["a"])


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
