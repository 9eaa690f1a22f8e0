"""An answer as a drawing: bars, or lines over builds. Pure.

The columns determine what is drawn: the value is the first existing column of VALUES, else the
first share or time, else the first number; rows are labelled by those columns of NAMES that differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import svg

from queries.plots.terminal import HISTORIES, series_columns
from queries.report.drawing import Scale, label, lines, scale_of, title
from queries.report.figures import count_text, delta_text, duration_text, name_text, number_text
from warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

VALUES = (
    "delta", "p50_ns", "self_ns", "median_ns", "duration_ns", "value_ns", "total_ns",
)  # fmt: skip
NAMES = (
    "device", "pool", "build", "model", "backend", "group", "run", "module_path", "source_line",
    "op_type", "event_name", "delegate_id", "instruction_id", "ordinal", "run_name", "allocator",
    "problem", "position", "run_index", "dump_id",
)  # fmt: skip
MOST_BARS = 60
MOST_LINES = 8
_WIDTH, _ROW, _SIDE, _MARGIN = 960, 22, 380, 12
_IDS = ("_id", "_index", "ordinal", "rank")
_STYLE = """
svg { font: 12px system-ui, sans-serif; background: #fff; }
text { fill: #1c2024; } .dim { fill: #5b6470; } .bar { fill: #3f72ad; }
.line { fill: none; stroke-width: 1.8; } .axis { stroke: #c3c9d0; }
@media (prefers-color-scheme: dark) {
svg { background: #14171b; } text { fill: #e6e9ed; } .dim { fill: #9aa4b0; } .bar { fill: #7fb0e6; }
}
"""
_COLOURS = (
    "#3f72ad", "#c2571a", "#2f8f5b", "#a13d8f", "#8a6d1d", "#c03b4a", "#3f8f9b", "#6b5fc7",
)  # fmt: skip


def query_figure(name: str, table: pa.Table) -> str:
    """The drawing of a query's answer, as SVG.

    Raises:
        QueryError: The answer has no rows or no numbers.
    """
    value = _value_column(name, table)
    rows = [row for row in table.to_pylist() if _is_drawn(row[value])]
    if not rows:
        raise QueryError(f"{name}: nothing to draw, as no row has a value in {value}")
    if name in HISTORIES:
        parts, height = _history(rows, value, series_columns(table))
    else:
        parts, height = _bars(rows, value)
    head = label(_MARGIN, 20, f"{name}: {value}", "start")
    drawn = svg.SVG(
        width=_WIDTH,
        height=height,
        viewBox=f"0 0 {_WIDTH} {height}",  # type: ignore[arg-type]
        elements=[title(f"{name}: {value}"), svg.Style(text=_STYLE), head, *parts],
    )
    return drawn.as_str() + "\n"


def _value_column(name: str, table: pa.Table) -> str:
    """The column to draw.

    Raises:
        QueryError: No column has numbers.
    """
    import pyarrow.types as types

    if name in HISTORIES:
        return HISTORIES[name]
    numbers = [
        field.name
        for field in table.schema
        if (types.is_floating(field.type) or types.is_integer(field.type))
        and not field.name.endswith(_IDS)
    ]
    likely = [one for one in numbers if one.endswith(("_ns", "_share", "_bytes"))]
    wanted: list[str] = [*(one for one in VALUES if one in numbers), *likely, *numbers]
    found = next(iter(wanted), None)
    if found is None:
        raise QueryError(f"{name}: nothing to draw, as no column has numbers")
    return found


def _bars(rows: Sequence[dict[str, Any]], value: str) -> tuple[list[svg.Element], int]:
    """A bar per row, and the total height."""
    shown = rows[:MOST_BARS]
    names = _names(shown)
    values = [float(row[value]) for row in shown]
    across = Scale(min(0.0, *values), max(0.0, *values) or 1.0, _SIDE, _WIDTH - 110)
    parts: list[svg.Element] = []
    for i, (row, text) in enumerate(zip(shown, names, strict=True)):
        y, (start, end) = 34 + i * _ROW, sorted((across(0.0), across(float(row[value]))))
        mark = svg.Rect(x=start, y=y, width=max(end - start, 0.5), height=_ROW - 6, class_=["bar"])
        mark.elements = [title(name_text(text))]
        parts += [
            label(_SIDE - 8, y + 12, name_text(text, 56), "end"),
            mark,
            label(end + 6, y + 12, _shown(value, row[value]), "start"),
        ]
    height = 34 + len(shown) * _ROW + _MARGIN
    if len(rows) > MOST_BARS:
        text = f"the first {MOST_BARS} of {count_text(len(rows), 'row')}"
        parts.append(label(_MARGIN, height, text, "start"))
        height += _MARGIN
    return parts, height


def _history(
    rows: Sequence[dict[str, Any]], value: str, names: Sequence[str]
) -> tuple[list[svg.Element], int]:
    """A line per series over the builds, and the total height."""
    builds = list(dict.fromkeys(row["build"] for row in rows))
    series: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        series.setdefault(tuple(row[name] for name in names), {})[row["build"]] = row[value]
    shown = list(series.items())[:MOST_LINES]
    known = [one for _, values in shown for one in values.values()]
    across = Scale(0, max(1, len(builds) - 1), 90, _WIDTH - _MARGIN)
    down = scale_of([*known, 0.98 * min(known), 1.02 * max(known)], 300, 40)
    parts: list[svg.Element] = [
        svg.Line(x1=90, x2=_WIDTH - _MARGIN, y1=306, y2=306, class_=["axis"])
    ]
    for one in sorted({min(known), max(known)}):
        parts.append(label(82, down(one) + 4, _shown(value, one), "end"))
    parts.append(label(90, 324, name_text(builds[0], 40), "start"))
    if len(builds) > 1:
        parts.append(label(_WIDTH - _MARGIN, 324, name_text(builds[-1], 40), "end"))
    for number, (key, values) in enumerate(shown):
        parts += _series(number, key, [(across(i), values.get(b)) for i, b in enumerate(builds)],
                         down)  # fmt: skip
    height = 340 + 18 * len(shown) + _MARGIN
    if len(series) > MOST_LINES:
        text = f"the first {MOST_LINES} of {count_text(len(series), 'line')}"
        parts.append(label(_MARGIN, height, text, "start"))
        height += _MARGIN
    return parts, height


def _series(
    number: int, key: tuple[Any, ...], points: Sequence[tuple[float, float | None]], down: Scale
) -> list[svg.Element]:
    """A line with its points, and its name below the axis."""
    colour, name = _COLOURS[number], _text(key)
    placed = [(x, None if value is None else down(value)) for x, value in points]
    dots = [svg.Circle(cx=x, cy=y, r=2.6, fill=colour) for x, y in placed if y is not None]
    y = 346 + 18 * number
    return [
        svg.G(elements=[*lines(placed)], stroke=colour),
        *dots,
        svg.Rect(x=_MARGIN, y=y - 9, width=10, height=10, fill=colour),
        label(_MARGIN + 18, y, name_text(name, 130), "start"),
    ]


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Labels of the rows: the columns that differ, else their first text, else their number."""
    known = [name for name in NAMES if name in rows[0]]
    columns = [name for name in known if len({row[name] for row in rows}) > 1]
    columns = columns or [name for name, value in rows[0].items() if isinstance(value, str)][:1]
    return [
        _text(dict.fromkeys(f"#{v}" if isinstance(v := row[name], int) else v for name in columns))
        or f"row {number}"
        for number, row in enumerate(rows, 1)
    ]


def _text(parts: Iterable[object]) -> str:
    return " · ".join(str(part) for part in parts if part is not None)


def _shown(column: str, value: float) -> str:
    if column == "delta":
        return delta_text(value)
    return duration_text(value) if column.endswith("_ns") else number_text(value)


def _is_drawn(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
