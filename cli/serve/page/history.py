"""The view of an event over builds: of whole runs or one operator, on each chosen device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.alert_history import alert_history
from tracehouse.cli.serve.page.alert_marks import known_marks, merge_marks
from tracehouse.cli.serve.page.cells import PLACE, Cell, Row, build_cell, link, pick, with_changes
from tracehouse.cli.serve.page.charts import spark_plot, trend_chart
from tracehouse.cli.serve.page.listing import Column, Table, listing, plain_table, sort_page
from tracehouse.cli.serve.page.notes import add_notes, find_notes, note_form, note_table
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.figures import delta_text, duration_text, name_text, operator_text
from tracehouse.queries.report.line_chart import COLOURS, Line, LineChart
from tracehouse.queries.report.plots import note_mark
from tracehouse.warehouse.errors import ParameterError

METHOD = "Method::execute"
_OPERATORS = "/explore/operator_hotspots"
NEWEST, MOST_BUILDS = 20, 40  # builds of all devices, and of chosen ones
ROWS = 30  # of a page, each with a small plot if they are too many for one plot
_ADDRESS = ("event", "delegate_id", "ordinal")
FIELDS = (*_ADDRESS, "group", "head", "sort", "page", "scale", "zero", "at")


def history(request: PageRequest) -> dict[str, Any]:
    """An event over the builds, by default whole runs; or the series of an alert (group=)."""
    if request.fields.get("group"):
        return alert_history(request)
    fields = {name: request.fields.get(name, "") for name in _ADDRESS}
    event, delegate, ordinal = fields.values()
    number = int(ordinal) if ordinal.isdecimal() else 0
    name = operator_text(event, delegate or None, number) if event else ""
    given = {name: value for name, value in fields.items() if value}
    parts = _history(request, name or METHOD, **{"event": METHOD, **given})
    return {
        "title": name or "Runs",
        "lead": "" if event else "The time of a whole run, the largest change first.",
        "empty": "No such event here: check event= in the address, or widen the filters.",
        **parts,
    }


def _some_builds(request: PageRequest, most: int) -> list[str]:
    """The newest of the chosen builds, or those around the one in the address (at=), in order.

    Raises:
        Problem: 400 if no chosen build has that name.
    """
    builds = [row["build"] for row in request.rows("page_builds")[1:]]
    at = request.fields.get("at")
    if at is None:
        return builds[-most:]
    if at not in builds:
        raise Problem(400, "at", f"at={at}: no chosen build has this name")
    end = max(most, builds.index(at) + most // 2)
    return builds[:end][-most:]


def _history(request: PageRequest, what: str, **params: str) -> dict[str, Any]:
    """The plots and tables of an event over builds; empty if the store has no such event.

    Raises:
        ParameterError: A filter has an unknown name.
    """
    builds = _some_builds(request, MOST_BUILDS if "device" in request.filters else NEWEST)
    if not builds:
        return {}
    try:
        found = request.table("page_history", **params, build=builds)
    except ParameterError as error:
        if error.param != "event":
            raise
        return {}
    series = found.filter(pc.field("level") == "device")
    if not series.num_rows:
        return {}
    shown = sort_page(request, series, _COLUMNS, sort="-change", size=ROWS)
    is_one_chart = series.num_rows <= len(COLOURS)
    notes = find_notes(request, builds)
    columns = [*_COLUMNS, *add_notes(notes, shown.rows)]
    marks = known_marks(request, shown.rows)
    for number, row in enumerate(shown.rows):
        colour = number if is_one_chart else None
        marks[number] += map(note_mark, row["notes"])
        medians, row["marks"] = _values(builds, row, "p50_ns"), marks[number]
        row["spark"] = spark_plot(builds, _name(row), medians, colour=colour, marks=marks[number])
    note = "Change is that of the last build against the one before."
    title = f"Time of one {'run' if what == METHOD else 'call'}, by build"
    seen = [one for one in notes if any(one in row["notes"] for row in shown.rows)]
    tables = [*note_table(seen), listing(request, title, columns, shown, note=note)]
    places = [(_name(row), row) for row in shown.rows]
    form = note_form(request, builds, places, **(params if what != METHOD else {}))
    if is_one_chart:
        lines = [_line(builds, row) for row in shown.rows]
        at = request.fields.get("at", "")
        chart = LineChart(what, "build", builds, lines, merge_marks(marks), at=at)
        drawn: dict[str, Any] = {"charts": trend_chart(request, "/history", chart, **params)}
        points = [_points_table(row) for row in shown.rows if what != METHOD]
        tables += [replace(one, is_folded=len(points) > 1) for one in points]
    else:
        drawn = {}
    return {**drawn, "tables": tables, "note_form": form}


def _line(builds: Sequence[str], row: Row) -> Line:
    """Medians and the band around them; points lead to the operators of their builds."""
    known = {point["build"] for point in row["points"]}
    place = pick(row, *PLACE)
    hrefs = [link(_OPERATORS, **place, build=one) if one in known else "" for one in builds]
    p50, p10, p90 = (_values(builds, row, name) for name in ("p50_ns", "p10_ns", "p90_ns"))
    return Line(_name(row), p50, p10, p90, hrefs)


def _values(builds: Sequence[str], row: Row, name: str) -> list[float | None]:
    values = {point["build"]: point[name] for point in row["points"]}
    return [values.get(build) for build in builds]


def _name(row: Row) -> str:
    """Device, model and operator of a series; the run if the model has several."""
    place = " · ".join(name_text(row[name]) for name in PLACE if row[name])
    if row["event_name"] == METHOD:
        return f"{place}, {name_text(row['run'])}" if " " in row["run"] else place
    operator = operator_text(row["event_name"], row["delegate_id"], row["ordinal"], row["run"])
    return f"{place} · {operator}"


def _place_cell(row: Row) -> Cell:
    return Cell(_name(row), link(_OPERATORS, **pick(row, *PLACE), build=_last(row)["build"]))


def _last(row: Row) -> Row:
    point: Row = row["points"][-1]
    return point


def _points_table(row: Row) -> Table:
    place = pick(row, *PLACE)
    points = with_changes(({**point, **place} for point in row["points"]), "p50_ns")
    return plain_table(_name(row), [*_POINT_COLUMNS, *add_notes(row["notes"], points)], points)


_COLUMNS = (
    Column("Device and model", _place_cell, "device"),
    Column("Change", lambda row: delta_text(row["change"]), "change", is_number=True),
    Column("Median", lambda row: duration_text(row["p50_ns"]), "p50_ns", is_number=True),
    Column("History", lambda row: Cell("", picture=row["spark"])),
    Column("Build", lambda row: build_cell(row, _last(row)["build"])),
    Column("Dumps", lambda row: f"{_last(row)['dump_count']:,}", is_number=True),
)
_POINT_COLUMNS = (
    Column("Build", lambda row: build_cell(row, row["build"])),
    Column("Change", lambda row: delta_text(row["change"]), is_number=True),
    Column("Median", lambda row: duration_text(row["p50_ns"]), is_number=True),
    Column("Fastest dump", lambda row: duration_text(row["min_ns"]), is_number=True),
    Column("Slowest dump", lambda row: duration_text(row["max_ns"]), is_number=True),
    Column("Dumps", lambda row: f"{row['dump_count']:,}", is_number=True),
    Column("Events", lambda row: f"{row['sample_count']:,}", is_number=True),
)
