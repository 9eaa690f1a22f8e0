"""The chart of an answer to SQL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.answer_chart import answer_chart
from tracehouse.cli.serve.page.charts import Chart
from tracehouse.cli.serve.page.page_request import Address


def _drawn(y: str = "", **columns: list[object]) -> Chart:
    fields = {"sql": "SELECT 1", **({"y": y} if y else {})}
    (chart,) = answer_chart(Address(path="/sql", fields=fields), pa.table(columns))
    return chart


def test_the_last_names_are_the_axis_and_others_are_lines() -> None:
    chart = _drawn(
        model=["a", "a", "b"], build=["b1", "b2", "b2"], dumps=[3, 4, 5], p50_us=[1.0, 2.0, None]
    )
    assert chart.lines
    assert chart.lines.places == ["b1", "b2"]
    assert [(line.name, line.values) for line in chart.lines.lines] == [
        ("a", [1000.0, 2000.0]),
        ("b", [None, None]),
    ]
    assert chart.lines.axis.unit == "ns"
    assert list(chart.scales) == [("/sql?sql=SELECT+1&y=dumps", "Plot dumps")]


def test_another_column_is_chosen_in_the_address() -> None:
    chart = _drawn("n", build=["b1", "b2"], n=[3, 4], m=[float("inf"), 2.0])
    assert chart.lines
    assert [(line.name, line.values) for line in chart.lines.lines] == [("n", [3.0, 4.0])]
    assert chart.lines.axis.unit == "count"


def test_numbers_alone_stand_over_the_first() -> None:
    chart = _drawn(x=[1, 2, 3], z=[4.0, float("nan"), 6.0])
    assert chart.lines
    assert chart.lines.places == ["1", "2", "3"]
    assert chart.lines.lines[0].values == [4.0, None, 6.0]


@pytest.mark.parametrize(
    "columns",
    [{"a": ["x"], "n": [1]}, {"a": ["x", "y"]}, {"a": ["x", "x"], "n": [1, 2]}, {"n": [1, 2]},
     {"a": [*map(str, range(300))], "n": [*range(300)]},
     {"b": [*map(str, range(18))], "a": ["x", "y"] * 9, "n": [*range(18)]}],
    ids=["one row", "no number", "one place", "one column", "many places", "many lines"],
)  # fmt: skip
def test_nothing_is_drawn_where_no_line_helps(columns: dict[str, list[object]]) -> None:
    assert answer_chart(Address(), pa.table(columns)) == []


def test_columns_of_one_name_are_not_drawn() -> None:
    table = pa.table([pa.array(["x", "y"]), pa.array([1, 2]), pa.array([3, 4])], ["a", "n", "n"])
    assert answer_chart(Address(), table) == []


def test_a_column_that_has_no_numbers_is_refused() -> None:
    with pytest.raises(Problem, match="y=build, wanted a column of numbers: n"):
        _drawn("build", build=["b1", "b2"], n=[1, 2])
