"""The views of latency over builds: of whole models on each device, and of one operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cli.serve.page.charts import spark_plot, trend_chart
from cli.serve.page.site import (
    PLACE,
    Cell,
    PageRequest,
    Parts,
    Table,
    link,
    more_text,
    pick,
    place_of,
)
from queries.report.figures import delta_text, duration_text, name_text, operator_text
from queries.report.line_chart import COLOURS, Line, LineChart
from warehouse.errors import ParameterError

METHOD = "Method::execute"
MOST_BUILDS = 40
MOST_SERIES = 200
_KEYS = (*PLACE, "run", "event_name", "delegate_id", "ordinal")


class _Series(NamedTuple):
    """One event of a model on a device, with a row, or None, for each build."""

    rows: list[dict[str, Any] | None]

    def line(self, name: str) -> Line:
        """Medians and the band around them; points lead to the operators of their builds."""
        hrefs = [
            "" if row is None else link("/operators", **pick(row, *PLACE, "build"))
            for row in self.rows
        ]
        p10, p50, p90 = (self.values(column) for column in ("p10_ns", "p50_ns", "p90_ns"))
        return Line(name, p50, p10, p90, hrefs)

    def values(self, column: str) -> list[float | None]:
        return [None if row is None else row[column] for row in self.rows]

    @property
    def last(self) -> dict[str, Any]:
        return next(row for row in reversed(self.rows) if row is not None)

    @property
    def place(self) -> str:
        """Device, model and backend, and the run's name if the model has several."""
        run = self.last["run"]
        return place_of(self.last) + (f", {name_text(run)}" if " " in run else "")

    @property
    def numbered_place(self) -> str:
        """The place, and the number of the operator among those of its name."""
        return f"{self.place} #{self.last['ordinal']}"


def latency(request: PageRequest) -> Parts:
    """A line for each model on each device."""
    builds, series = _history(request, event=METHOD)
    is_drawn = len(series) <= len(COLOURS)
    lines = [one.line(one.place) for one in series] if is_drawn else []
    chart = LineChart(METHOD, "build", builds, lines)
    table = Table(
        "Time of one run, by build",
        ("Model", "Median", "Change from last build", "Dumps", "Build", "History"),
        [
            _row(builds, one, number if is_drawn else None)
            for number, one in enumerate(series[:MOST_SERIES])
        ],
        frozenset({1, 2, 3}),
    )
    return {
        "title": "Latency",
        "charts": trend_chart(request, "/latency", chart, event=METHOD),
        "tables": [table] if series else [],
        "empty": f"No run has the event {METHOD} here: widen the filters.",
        "cut": more_text(len(series) - MOST_SERIES, "model"),
    }


def operator(request: PageRequest) -> Parts:
    """One operator over the builds, on each chosen device."""
    fields = {name: request.address.get(name, "") for name in ("event", "delegate_id", "ordinal")}
    event, delegate, ordinal = fields.values()
    builds, series = _history(
        request, event=event or METHOD, delegate_id=delegate or None, ordinal=ordinal or None
    )
    name = operator_text(event, delegate or None, int(ordinal)) if ordinal.isdigit() else event
    shown = series[: len(COLOURS)]
    chart = LineChart(name, "build", builds, [one.line(one.numbered_place) for one in shown])
    tables = [
        Table(
            one.numbered_place,
            ("Build", "Median", "Fastest dump", "Slowest dump", "Change", "Dumps", "Events"),
            [_point(row) for row in reversed(one.rows) if row is not None],
            frozenset(range(1, 7)),
        )
        for one in shown
    ]
    return {
        "title": name or "Operator",
        "charts": trend_chart(request, "/operator", chart, **{**fields, "event": event or METHOD}),
        "tables": tables,
        "empty": "No such operator here: check event= in the address, or widen the filters.",
        "cut": more_text(len(series) - len(COLOURS), "place"),
        "fields": tuple(fields.items()),
    }


def _history(request: PageRequest, **params: Any) -> tuple[list[str], list[_Series]]:
    """The newest builds, and the series over them, the slowest first.

    Raises:
        ParameterError: A filter has an unknown name.
    """
    given = {name: value for name, value in params.items() if value is not None}
    try:
        rows = request.rows("build_history", **given)
    except ParameterError as error:
        if error.param != "event":
            raise
        return [], []  # the store has no such event yet
    builds = request.builds(rows)[-MOST_BUILDS:]
    found: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in _KEYS), {})[row["build"]] = row
    series = [
        _Series([by_build.get(build) for build in builds])
        for by_build in found.values()
        if by_build.keys() & set(builds)
    ]
    return builds, sorted(series, key=lambda one: -(one.last["p50_ns"] or 0))


def _row(builds: Sequence[str], one: _Series, colour: int | None) -> list[Cell | str]:
    last, where = one.last, pick(one.last, *PLACE, "build")
    spark = spark_plot(builds, one.place, one.values("p50_ns"), colour=colour)
    return [
        Cell(one.place, link("/operators", **where)),
        duration_text(last["p50_ns"]),
        delta_text(last["change"]),
        f"{last['dump_count']:,}",
        Cell(last["build"], link("/dumps", **where)),
        Cell("", picture=spark),
    ]


def _point(row: dict[str, Any]) -> list[Cell | str]:
    return [
        Cell(row["build"], link("/dumps", **pick(row, *PLACE, "build"))),
        *(duration_text(row[name]) for name in ("p50_ns", "min_ns", "max_ns")),
        delta_text(row["change"]),
        f"{row['dump_count']:,}",
        f"{row['sample_count']:,}",
    ]
