"""An answer as a file of SVG: bars, or lines over builds. Pure.

The columns determine what is drawn: the value is the first existing column of VALUES, else the
first share or time, else the first number; rows are labelled by those columns of NAMES that differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracehouse.queries.drawing.bars import Bar, draw_bars_file
from tracehouse.queries.drawing.line_chart import MOST_LINES, Line, LineChart, draw_lines_file
from tracehouse.queries.plots.terminal import HISTORIES, series_columns
from tracehouse.queries.report.figures import count_text, delta_text, duration_text, number_text
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
COMPARISONS = ("comparison", "regression_deltas")  # drawn by their verdicts
VALUES = (
    "delta", "p50_ns", "self_ns", "median_ns", "duration_ns", "value_ns", "total_ns",
)  # fmt: skip
NAMES = (
    "device", "pool", "build", "model", "backend", "group", "run", "module_path", "source_line",
    "op_type", "event_name", "delegate_id", "instruction_id", "ordinal", "run_name", "allocator",
    "problem", "position", "run_index", "dump_id",
)  # fmt: skip
MOST_BARS = 60
_IDS = ("_id", "_index", "ordinal", "rank")


def query_figure(name: str, table: pa.Table, params: Mapping[str, object]) -> str:
    """The drawing of a query's answer for these parameters, as SVG.

    Raises:
        QueryError: The answer has no rows or no numbers.
    """
    value = value_column(name, table)
    rows = [row for row in table.to_pylist() if _is_drawn(row[value])]
    if not rows:
        raise QueryError(f"{name}: nothing to draw, as no row has a value in {value}")
    if name in HISTORIES:
        chart = history_chart(name, table)
        more = f"the first {MOST_LINES} of {count_text(_count_series(table), 'line')}"
        note = more if _count_series(table) > MOST_LINES else ""
        return draw_lines_file(chart, f"{name}: {value}", note=note)
    if name in COMPARISONS:
        from tracehouse.queries.comparison import picture_of_rows

        builds = {name: str(params.get(name, name)) for name in ("base", "head")}
        return picture_of_rows(table.to_pylist(), **builds)  # some rows have no change
    shown = rows[:MOST_BARS]
    note = f"the first {MOST_BARS} of {count_text(len(rows), 'row')}" if shown != rows else ""
    bars = [
        Bar(text, float(row[value]), _value_text(value, row[value]))
        for row, text in zip(shown, _names(shown), strict=True)
    ]
    return draw_bars_file(bars, f"{name}: {value}", note=note)


def value_column(name: str, table: pa.Table) -> str:
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


def history_chart(
    name: str,
    table: pa.Table,
    order: Sequence[str] = (),
    *,
    values: Iterable[Row] = (),
    href: Callable[[Row, str], str] | None = None,
) -> LineChart:
    """A line per series over the builds; a band between p10 and p90 where the answer has them.

    A series whose dumps run at two speeds, as `values` of the query `dump_values` show, has a line
    for each. Without their order, builds stand as the answer first names them. `href` makes the
    address of a series in a build.
    """
    value, keys, rows = HISTORIES[name], series_columns(table), table.to_pylist()
    known = dict.fromkeys(row["build"] for row in rows)
    builds = [build for build in order if build in known] or list(known)
    series: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        series.setdefault(tuple(row[key] for key in keys), {})[row["build"]] = row
    dumps: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    has_room = 2 * len(series) <= MOST_LINES
    for row in values if has_room else ():
        own = dumps.setdefault(tuple(row[key] for key in keys), {})
        own.setdefault(row["build"], []).append(row["value"])
    names = _names([dict(zip(keys, key, strict=True)) for key in list(series)[:MOST_LINES]])
    lines: list[Line] = []
    for text, (key, by_build) in zip(names, series.items(), strict=False):
        one = Line(
            text,
            [by_build[build][value] if build in by_build else None for build in builds],
            low=_edge(by_build, builds, "p10_ns"),
            high=_edge(by_build, builds, "p90_ns"),
        )
        first = next(iter(by_build.values()))
        hrefs = [href(first, build) for build in builds] if href else []
        found = split_speeds(text, [dumps.get(key, {}).get(build, []) for build in builds])
        lines += [each._replace(hrefs=hrefs) for each in found or [one]]
    return LineChart(name, "build", builds, lines, text=duration_text)


def split_speeds(name: str, builds: Sequence[Sequence[float]]) -> list[Line]:
    """A line for each of two speeds at which dumps run; none if they run at one.

    There are two if a gap divides all dumps, and most builds have dumps on both sides: a step from
    one level to another is no second speed.
    """
    import numpy as np

    from tracehouse.warehouse.statistics.two_samples import LEAST_SHARE, find_gap, split_median

    logs = [np.log([value for value in values if value > 0]) for values in builds]
    (split,), _ = find_gap(np.concatenate([np.empty(0), *logs])[None])
    if math.isnan(split):
        return []
    medians = [split_median(values, split) for values in logs]
    counts, slow = [len(values) for values in logs], [each.slow_count for each in medians]
    shares = [part / count for part, count in zip(slow, counts, strict=True) if count]
    if 2 * sum(LEAST_SHARE <= share <= 1 - LEAST_SHARE for share in shares) <= len(shares):
        return []
    fast = [count - part for part, count in zip(slow, counts, strict=True)]
    return [
        _speed_line(name, "slow", [each.slow for each in medians], slow, counts),
        _speed_line(name, "fast", [each.fast for each in medians], fast, counts),
    ]


def _speed_line(
    name: str, speed: str, values: list[float | None], parts: list[int], counts: list[int]
) -> Line:
    details = [
        f"{part} of {count_text(count, 'dump')}" for part, count in zip(parts, counts, strict=True)
    ]
    return Line(f"{name}, {speed}" if name else speed, values, details=details)


def _count_series(table: pa.Table) -> int:
    keys = series_columns(table)
    return int(table.group_by(keys).aggregate([]).num_rows)


def _edge(by_build: Mapping[str, Row], builds: Sequence[str], column: str) -> list[float | None]:
    return [by_build.get(build, {}).get(column) for build in builds]


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


def _value_text(column: str, value: float) -> str:
    if column == "delta":
        return delta_text(value)
    return duration_text(value) if column.endswith("_ns") else number_text(value)


def _is_drawn(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
