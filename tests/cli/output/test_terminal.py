from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from tests.support.command import run_all_on_terminal, run_on_terminal
from tests.support.questions import every_query
from tracehouse.cli.output.terminal import MAX_ROWS, print_table


def shown(table: pa.Table, width: int, query: str = "") -> list[str]:
    stream = io.StringIO()
    print_table(table, query, console=Console(file=stream, width=width, highlight=False))
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
    assert shown(table, 22)[:3] == ["In all rows: build", "release-2026, pool –", "name"]


def test_texts_fold_and_numbers_stay_whole() -> None:
    table = pa.table({"name": ["n" * 40, "m"], "p50_ns": [123456789, 1]})
    lines = shown(table, 30)
    assert lines[2].endswith("123.5 ms")
    assert "".join(lines).count("n") >= 40
    assert max(map(len, lines)) <= 30


def test_columns_that_do_not_fit_follow_below_after_the_first_column() -> None:
    table = pa.table({"name": ["a", "b"]} | {f"n_{i}": [10**9 + i, i] for i in range(5)})
    lines = shown(table, 40)
    assert max(map(len, lines)) <= 40
    assert lines[2] == "a     1,000,000,000  1,000,000,001"
    assert lines[5].split() == ["name", "n_2", "n_3"]
    assert lines[7] == "a     1,000,000,002  1,000,000,003"
    assert lines[12] == "a     1,000,000,004"


def test_columns_that_follow_below_begin_with_what_tells_rows_apart() -> None:
    names = {"device": ["a", "a", "b"], "event_name": ["conv", "relu", "conv2"]}
    lines = shown(pa.table(names | {f"n_{i}": [10**9, 1, 2] for i in range(2)}), 36)
    assert [line.split()[0] for line in lines if line[:1].isalpha()] == [
        *("device", "a", "a", "b"),
        *("event_name", "conv", "relu", "conv2"),
    ]


def test_a_number_stays_whole_even_beyond_the_width() -> None:
    table = pa.table({"n": [10**15, 1], "m": [10**16, 2]})
    assert "1,000,000,000,000,000" in shown(table, 15)[2]


def test_names_in_tables_wrap_between_words() -> None:
    table = pa.table(
        {
            "event_name": ["native_call_convolution.out", "aten::max_pool2d_with_indices.default"],
            "median_of_all_complete_runs": [1, 2],
            "layer": ["encoder.layers.0.attention.self.query", "encoder.layers.1.output"],
        }
    )
    lines = shown(table, 60)
    assert max(map(len, lines)) <= 60
    found = {word for line in lines for word in re.findall("[a-z0-9]+", line)}
    texts = [*table.column_names, *table["event_name"].to_pylist(), *table["layer"].to_pylist()]
    assert found == {"1", "2"} | {word for text in texts for word in re.findall("[a-z0-9]+", text)}


def test_a_line_does_not_break_within_the_number_of_an_operator() -> None:
    table = pa.table({"operator": ["Convolution DWConv #12", "relu"], "n": [1, 2]})
    assert [line.split()[0] for line in shown(table, 23)[2:4]] == ["Convolution", "#12"]


NEEDED = {
    "dump": "1",
    "base": "base",
    "head": "ch26",
    "base_backend": "portable",
    "head_backend": "xnnpack",
    "size_tag": "iterations",
    "event": "native_call_convolution.out",
}


@pytest.mark.system
@pytest.mark.slow
def test_every_canned_query_fits_a_terminal(store: Path) -> None:
    lines = [
        [
            "query",
            name,
            *(
                f"--{p.name.replace('_', '-')}={NEEDED[p.name]}"
                for p in query.header.params
                if p.is_required
            ),
            "--store",
            store,
        ]
        for name, query in every_query().items()
    ]
    text = run_all_on_terminal(lines)
    assert "error: " not in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("note: ")) <= 100


def test_the_first_columns_of_an_answer_head_groups_where_there_is_little_room() -> None:
    names = {"device": ["a"] * 3 + ["b"] * 3, "model": ["net"] * 3 + ["mix"] * 3}
    table = pa.table(names | {"operator": [f"op{i}" for i in range(6)], "p50_ns": [1000] * 6})
    lines = shown(
        table.append_column("p99_ns", [[2000.0 + i for i in range(6)]]), 30, "percentiles"
    )
    assert lines == [
        "In all rows: p50 1.000 µs",
        "model  operator       p99",
        "─" * 25,
        "a",
        *(f"net    op{i}       {2 + i / 1000:.3f} µs" for i in range(3)),
        "b",
        *(f"mix    op{i}       {2 + i / 1000:.3f} µs" for i in range(3, 6)),
    ]


def test_columns_of_an_answer_that_do_not_fit_are_named() -> None:
    table = pa.table({"operator": ["a", "b"]} | {f"p{i}_ns": [10**9 + i, i] for i in (10, 50, 99)})
    lines = shown(table, 30, "percentiles")
    assert lines[0] == "operator      p10      p50"
    assert " ".join(lines[-2:]) == "no room for p99: widen the terminal, or --format markdown"
    assert shown(table, 60, "percentiles")[0].split() == ["operator", "p10", "p50", "p99"]


def test_times_stay_whole() -> None:
    when = pa.array([datetime(2026, 11, 30, 8, tzinfo=UTC), None], pa.timestamp("us", "UTC"))
    lines = shown(pa.table({"source": ["a folder with a long name", "b"], "at": when}), 36)
    assert any("2026-11-30 08:00:00Z" in line for line in lines)


def test_a_truncated_table_says_how_many_rows_it_has() -> None:
    lines = shown(pa.table({"a": range(MAX_ROWS + 5)}), 80)
    assert len(lines) == 2 + MAX_ROWS + 1
    assert lines[-1] == "The first 1,000 of 1,005 rows; pipes and files get all of them."


def test_a_table_without_rows_prints_no_rows() -> None:
    assert shown(pa.table({"a": pa.array([], pa.int64())}), 80) == ["No rows."]


def test_names_are_text_not_markup() -> None:
    assert shown(pa.table({"[red]": ["[bold]x[/bold]"]}), 80)[2] == "[bold]x[/bold]"


@pytest.mark.smoke
@pytest.mark.system
def test_sql_on_a_terminal_prints_a_formatted_table(store: object) -> None:
    outcome = run_on_terminal("sql", "SELECT 1000 AS n_events", "--store", str(store))
    assert [line.rstrip() for line in outcome.text.splitlines()] == [
        "n_events",
        "─" * 8,
        "   1,000",
    ]
