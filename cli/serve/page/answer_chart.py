"""The chart of an answer to SQL: a column of numbers over the last column of names or times."""

from __future__ import annotations

import math

import pyarrow as pa

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.charts import Chart
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.queries.cells import is_number
from tracehouse.queries.plain_values import plain_rows
from tracehouse.queries.plots.line_figure import line_figure
from tracehouse.queries.report.axis import AxisKind
from tracehouse.queries.report.figures import name_text
from tracehouse.queries.report.line_chart import COLOURS, Line, LineChart, line_chart

MOST_ROWS = 5000
MOST_PLACES = 200
_UNITS_NS = {"_ns": 1.0, "_us": 1e3, "_ms": 1e6}  # by the end of a column's name


def answer_chart(address: Address, table: pa.Table) -> list[Chart]:
    """The chart of the numbers in the address (y=), by default the last; empty if there is none.

    The last column without numbers is the axis, else the first column. The other columns without
    numbers distinguish lines.

    Raises:
        Problem: 400 if no column of numbers has the name in the address.
    """
    names = [field.name for field in table.schema if not is_number(field.type)]
    numbers = [field.name for field in table.schema if is_number(field.type)]
    if not names:
        names, numbers = numbers[:1], numbers[1:]
    wanted = address.fields.get("y") or (numbers[-1] if numbers else "")
    if wanted not in numbers and "y" in address.fields:
        raise Problem(400, "y", f"y={wanted}, wanted a column of numbers: {', '.join(numbers)}")
    is_unique = len(set(table.column_names)) == table.num_columns
    if not numbers or not is_unique or not 1 < table.num_rows <= MOST_ROWS:
        return []
    chart = _chart(table.select([*names, wanted]))
    if not 1 < len(chart.places) <= MOST_PLACES or len(chart.lines) > len(COLOURS):
        return []
    drawn = line_chart(chart, width=720, height=260, class_="trend")
    others = [(address.here(y=name), f"Plot {name}") for name in numbers if name != wanted]
    if not drawn:
        return []
    files = [(address.here(format="svg", page=""), "svg", "answer.svg")]
    return [Chart(drawn, chart, others, files, lambda: line_figure(chart, chart.what))]


def _chart(table: pa.Table) -> LineChart:
    """The last column over the one before, with a line for each text in the columns before that."""
    *_, noun, what = table.column_names
    scale = next((by for end, by in _UNITS_NS.items() if what.endswith(end)), None)
    places: dict[str, None] = {}  # a set that keeps the order
    values: dict[str, dict[str, float]] = {}
    numbers = table[what].cast(pa.float64()).to_pylist()
    for row, number in zip(plain_rows(table.drop_columns([what])), numbers, strict=True):
        *names, place = map(str, row)
        places[place] = None
        line = values.setdefault(" · ".join(names) or what, {})
        if number is not None and math.isfinite(number):
            line[place] = number * (scale or 1)
    lines = [
        Line(name_text(name), [own.get(place) for place in places]) for name, own in values.items()
    ]
    axis = AxisKind("ns" if scale else "count")
    return LineChart(name_text(what), name_text(noun), list(places), lines, axis=axis, is_live=True)
