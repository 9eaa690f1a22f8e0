from __future__ import annotations

import io

import pyarrow as pa
from rich.console import Console

from cli.output.terminal import MAX_ROWS, print_table
from tests.support.command import run_on_terminal


def shown(table: pa.Table, width: int) -> list[str]:
    stream = io.StringIO()
    print_table(table, console=Console(file=stream, width=width, highlight=False))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_table_that_fits_is_shown_as_it_is() -> None:
    table = pa.table({"name": ["a", None], "n_events": [1000, 20], "build": ["b", "b"]})
    assert shown(table, 40) == [
        "name  n_events  build",
        "─" * 21,
        "a        1,000  b",
        "-           20  b",
    ]


def test_columns_of_one_value_move_above_a_table_that_is_too_wide() -> None:
    table = pa.table({"name": ["a", "b"], "build": ["release-2026"] * 2, "pool": [None] * 2})
    assert shown(table, 20)[:3] == ["build: release-2026", "pool: -", "name"]


def test_texts_fold_and_numbers_stay_whole() -> None:
    table = pa.table({"name": ["n" * 40, "m"], "p50_ns": [123456789, 1]})
    lines = shown(table, 30)
    assert lines[2].endswith("123,456,789")
    assert "".join(lines).count("n") >= 40
    assert max(map(len, lines)) <= 30


def test_numbers_stay_whole_even_beyond_the_width() -> None:
    table = pa.table({f"n_{i}": [10**9 + i, i] for i in range(5)})
    assert "1,000,000,004" in shown(table, 30)[2]


def test_rows_left_out_are_told() -> None:
    lines = shown(pa.table({"a": range(MAX_ROWS + 5)}), 80)
    assert len(lines) == 2 + MAX_ROWS + 1
    assert lines[-1] == "The first 1,000 of 1,005 rows; in a pipe or file you get all."


def test_no_rows_are_told() -> None:
    assert shown(pa.table({"a": pa.array([], pa.int64())}), 80) == ["No rows."]


def test_names_are_text_not_markup() -> None:
    assert shown(pa.table({"[red]": ["[bold]x[/bold]"]}), 80)[2] == "[bold]x[/bold]"


def test_query_on_a_terminal_is_such_a_table(store: object) -> None:
    outcome = run_on_terminal("sql", "SELECT 1000 AS n_events", "--store", str(store))
    assert [line.rstrip() for line in outcome.text.splitlines()] == [
        "n_events",
        "─" * 8,
        "   1,000",
    ]
