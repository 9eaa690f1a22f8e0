"""Latency over builds: of whole models on each device, and of one operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cli.serve.page.charts import COLOURS, Trend, spark_plot, trend_plot
from cli.serve.page.fleet import build_order
from cli.serve.page.site import Cell, Table, Visit, link, view
from queries.report.figures import (
    NONE,
    delta_text,
    duration_text,
    name_text,
    operator_text,
    place_text,
)
from warehouse.errors import ParameterError

METHOD = "Method::execute"
MOST_BUILDS = 40
MOST_SERIES = 200
_KEYS = ("device", "model", "backend", "run", "event_name", "delegate_id", "ordinal")


class _Series(NamedTuple):
    """One event of a model on a device, with its row of each build that is shown."""

    key: dict[str, Any]
    rows: list[dict[str, Any] | None]

    def trend(self, name: str) -> Trend:
        return Trend(name, [None if row is None else row["p50_ns"] for row in self.rows])

    @property
    def last(self) -> dict[str, Any]:
        return next(row for row in reversed(self.rows) if row is not None)


@view
def latency(visit: Visit) -> tuple[str, dict[str, Any]]:
    """A line for each model on each device."""
    builds, series = _history(visit, event=METHOD)
    trends = [one.trend(_where(one.key)) for one in series[:COLOURS]]
    is_drawn = len(series) <= COLOURS
    rows = [
        _row(builds, one, number if is_drawn else None)
        for number, one in enumerate(series[:MOST_SERIES])
    ]
    table = Table(
        "Time of one run, by build",
        ("Model", "Median", "Against the build before", "Dumps", "Build", "History"),
        rows,
        frozenset({1, 2, 3}),
    )
    return "tables.html.jinja", {
        "title": "Latency",
        "charts": [trend_plot(builds, trends, METHOD)] if is_drawn else [],
        "legend": [trend.name for trend in trends] if is_drawn else [],
        "tables": [table] if rows else [],
        "empty": f"No run has a {METHOD} here: widen the filters.",
        "cut": _cut(series),
    }


@view
def operator(visit: Visit) -> tuple[str, dict[str, Any]]:
    """One operator over the builds, on each device that is chosen."""
    event, delegate = visit.first("event"), visit.first("delegate_id")
    ordinal = visit.first("ordinal")
    chosen = {
        "event": event or METHOD,
        "delegate_id": delegate or None,
        "ordinal": ordinal or None,
    }
    builds, series = _history(visit, **chosen)
    name = operator_text(event, delegate or None, int(ordinal)) if ordinal.isdigit() else event
    trends = [one.trend(_name(one.key)) for one in series[:COLOURS]]
    tables = [
        Table(
            _name(one.key),
            ("Build", "Median", "Lowest dump", "Highest dump", "Change", "Dumps", "Events"),
            [_point(row) for row in reversed(one.rows) if row is not None],
            frozenset(range(1, 7)),
        )
        for one in series[:COLOURS]
    ]
    return "tables.html.jinja", {
        "title": name or "Operator",
        "charts": [trend_plot(builds, trends, name)],
        "legend": [trend.name for trend in trends],
        "tables": tables,
        "empty": "No such operator here: name it in the address (event=), or widen the filters.",
        "cut": _cut(series, COLOURS),
        "fields": tuple((k, visit.first(k)) for k in ("event", "delegate_id", "ordinal")),
    }


def _history(visit: Visit, **params: Any) -> tuple[list[str], list[_Series]]:
    """The newest builds that are there, and the series over them, the slowest first.

    Raises:
        ParameterError: A filter names what the store does not have.
    """
    given = {name: value for name, value in params.items() if value is not None}
    try:
        rows = visit.rows("build_history", **given)
    except ParameterError as error:
        if error.param != "event":
            raise
        return [], []  # the store has no such event yet
    there = {row["build"] for row in rows}
    builds = [build for build in build_order(visit) if build in there][-MOST_BUILDS:]
    found: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in _KEYS), {})[row["build"]] = row
    series = [
        _Series(dict(zip(_KEYS, key, strict=True)), [by_build.get(build) for build in builds])
        for key, by_build in found.items()
        if by_build.keys() & set(builds)
    ]
    return builds, sorted(series, key=lambda one: -(one.last["p50_ns"] or 0))


def _name(key: dict[str, Any]) -> str:
    """A series among those of one operator: where it runs, and which of that name it is."""
    return f"{_where(key)} #{key['ordinal']}"


def _where(key: dict[str, Any]) -> str:
    """Device, model and backend, and which runs where the model has several."""
    run = f", {name_text(key['run'])}" if " " in key["run"] else ""
    return f"{place_text(**_place(key))}{run}"


def _place(key: dict[str, Any]) -> dict[str, Any]:
    return {name: key[name] for name in ("device", "model", "backend")}


def _row(builds: Sequence[str], one: _Series, colour: int | None) -> list[Cell]:
    last, place = one.last, _where(one.key)
    where = {**_place(one.key), "build": last["build"]}
    return [
        Cell(place, link("/operators", **where)),
        Cell(duration_text(last["p50_ns"])),
        Cell(NONE if last["change"] is None else delta_text(last["change"])),
        Cell(f"{last['dump_count']:,}"),
        Cell(last["build"], link("/dumps", **where)),
        Cell("", picture=spark_plot(builds, one.trend(place), colour)),
    ]


def _point(row: dict[str, Any]) -> list[Cell]:
    where = {name: row[name] for name in ("device", "model", "backend", "build")}
    return [
        Cell(row["build"], link("/dumps", **where)),
        *(Cell(duration_text(row[name])) for name in ("p50_ns", "min_ns", "max_ns")),
        Cell(NONE if row["change"] is None else delta_text(row["change"])),
        Cell(f"{row['dump_count']:,}"),
        Cell(f"{row['sample_count']:,}"),
    ]


def _cut(series: Sequence[_Series], most: int = MOST_SERIES) -> str:
    more = len(series) - most
    return f"{more:,} more series: filter them." if more > 0 else ""
