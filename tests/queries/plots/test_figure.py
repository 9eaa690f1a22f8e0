"""Answers drawn."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import pyarrow as pa
import pytest

from tests.support.changes import change_row
from tests.support.strange_names import NAMES
from tracehouse.queries.drawing.line_chart import MOST_LINES
from tracehouse.queries.plots.figure import MOST_BARS, history_chart, query_figure, split_speeds
from tracehouse.warehouse.errors import QueryError

EVIL = "</text></svg><script>alert(1)</script>"


def _drawn(*rows: dict[str, Any], name: str = "q") -> str:
    text = query_figure(name, pa.Table.from_pylist(list(rows)), {"base": "b1", "head": "b2"})
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
    return text


def _texts(text: str) -> list[str]:
    return [found for found in re.findall(r"<text[^>]*>(.*?)</text>", text) if found]


def _history(*names: str) -> list[dict[str, Any]]:
    key = {"device": "d", "model": "m", "backend": None, "delegate_id": None, "ordinal": 1}
    return [
        {**key, "event_name": name, "build": build, "p50_ns": 10.0 + i}
        for name in names
        for i, build in enumerate(("b1", "b2"))
    ]


def test_a_row_is_a_bar_labelled_by_its_distinguishing_values() -> None:
    rows = [
        {"device": "phone", "event_name": "add", "ordinal": 1, "kind": "kernel", "p50_ns": 2e3},
        {"device": "phone", "event_name": "add", "ordinal": 2, "kind": "kernel", "p50_ns": 1e3},
    ]
    text = _drawn(*rows)
    assert _texts(text) == ["q: p50_ns", "#1", "2.000 µs", "#2", "1.000 µs"]
    wide, narrow = (float(w) for w in re.findall(r'width="([\d.]+)" height="16"', text))
    assert wide == 2 * narrow


def test_changes_are_drawn_to_both_sides() -> None:
    text = _drawn({"event_name": "a", "p50_ns": 1.0, "delta": 0.5}, {"event_name": "b",
                  "p50_ns": 1.0, "delta": -0.5})  # fmt: skip
    assert "+50.0 %" in _texts(text)
    assert "−50.0 %" in _texts(text)


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ({"run_count": 3, "tax_share": 0.5}, "tax_share"),
        ({"dump_id": 3, "n_runs": 7}, "n_runs"),
        ({"avg_ns": 1.0, "p50_ns": 2.0}, "p50_ns"),
    ],
)
def test_a_figure_draws_the_most_meaningful_number(columns: dict[str, Any], value: str) -> None:
    assert _texts(_drawn({"event_name": "a", **columns}))[0] == f"q: {value}"


def test_a_history_is_a_line_per_series() -> None:
    text = _drawn(*_history("add", "mul"), name="build_history")
    assert text.count("<polyline") == 2
    assert text.count("<circle") == 4
    assert {"b1", "b2", "add", "mul"} <= set(_texts(text))


def test_a_figure_says_how_many_rows_or_lines_it_leaves_out() -> None:
    bars = [{"event_name": str(i), "p50_ns": 1.0} for i in range(MOST_BARS + 1)]
    assert "the first 60 of 61 rows" in _texts(_drawn(*bars))
    many = _history(*map(str, range(MOST_LINES + 1)))
    assert "the first 8 of 9 lines" in _texts(_drawn(*many, name="build_history"))


def test_names_are_text() -> None:
    for name in (EVIL, *NAMES):
        assert "<script" not in _drawn({"event_name": name, "p50_ns": 1.0})
        assert "<script" not in _drawn(*_history(name), name="build_history")


@pytest.mark.parametrize("table", [pa.table({"a": ["x"]}), pa.table({"p50_ns": [None, None]}),
                                   pa.table({"p50_ns": pa.array([], pa.float64())})])  # fmt: skip
def test_a_table_without_values_cannot_be_drawn(table: pa.Table) -> None:
    with pytest.raises(QueryError, match="to draw"):
        query_figure("q", table, {})


@pytest.mark.parametrize("name", ["comparison", "regression_deltas"])
def test_two_builds_are_drawn_by_their_verdicts_and_noise_is_a_line(name: str) -> None:
    noise = change_row("inconclusive", ordinal=2, delta=0.56)
    added = change_row("new_op", ordinal=3, delta=None, base_ns=None, head_ns=5e4)
    texts = _texts(_drawn(change_row(), noise, added, name=name))
    assert texts[0] == "1 operator is slower, 1 was added."
    assert "conv #1" in texts
    assert "conv #3" in texts
    assert "conv #2" not in texts
    assert texts[-1] == "Not drawn: 1 more: 1 cannot tell."


def test_an_operator_at_two_speeds_has_a_line_for_each() -> None:
    builds = [[3.0, 3.1, 7.0], [3.0, 7.1, 7.2], [3.1, 3.2, 7.1, 7.3], []]
    slow, fast = split_speeds("conv", builds)
    assert (slow.name, fast.name) == ("conv, slow", "conv, fast")
    assert slow.values == pytest.approx([7.0, math.sqrt(7.1 * 7.2), math.sqrt(7.1 * 7.3), None])
    assert fast.values == pytest.approx([math.sqrt(3.0 * 3.1), 3.0, math.sqrt(3.1 * 3.2), None])
    assert slow.details == ["1 of 3 dumps", "2 of 3 dumps", "2 of 4 dumps", "0 of 0 dumps"]


@pytest.mark.parametrize(
    "builds",
    [[[3.0, 3.1, 3.05]] * 3, [[3.0] * 5, [3.1] * 5, [7.0] * 5, [7.1] * 5], [[]], []],
    ids=["one speed", "a step", "no dumps", "no builds"],
)
def test_a_step_and_noise_are_no_second_speed(builds: list[list[float]]) -> None:
    assert split_speeds("conv", builds) == []


def test_a_history_has_the_speeds_of_its_dumps() -> None:
    rows = _history("add")
    values = [{**row, "value": value} for row in rows for value in (3.0, 3.1, 7.0, 7.1, 3.05, 7.05)]
    table = pa.Table.from_pylist(rows)
    chart = history_chart("build_history", table, values=values, href=lambda _, build: f"/{build}")
    assert [line.name.rpartition(", ")[2] for line in chart.lines] == ["slow", "fast"]
    assert [line.hrefs for line in chart.lines] == [["/b1", "/b2"]] * 2
    assert len(history_chart("build_history", table).lines) == 1
