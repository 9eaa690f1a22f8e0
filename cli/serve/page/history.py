"""Histories in Explore: a line or a sparkline for each series, marks of alerts, notes on points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.compute as pc
from starlette.responses import RedirectResponse, Response

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.alerts import SCOPES
from tracehouse.cli.serve.page.answer_table import answer_table
from tracehouse.cli.serve.page.cells import (
    METHOD,
    PLACE,
    Cell,
    Row,
    date_text,
    history_link,
    link,
    pick,
    place_of,
)
from tracehouse.cli.serve.page.charts import Chart, draw_chart, spark_plot
from tracehouse.cli.serve.page.listing import Column, Shown, Table, listing
from tracehouse.cli.serve.page.page_request import MOST_ROWS, PageRequest
from tracehouse.queries.drawing.line_chart import MOST_LINES, Mark
from tracehouse.queries.plots.figure import history_chart
from tracehouse.queries.plots.terminal import HISTORIES, series_columns
from tracehouse.queries.report.content import Group, Member, Report, member_operator
from tracehouse.queries.report.figures import and_more, count_text, delta_text, operator_text
from tracehouse.queries.report.nightly import last_night
from tracehouse.queries.report.parts import Note, choose_notes
from tracehouse.queries.report.plots import note_mark
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.header import Header

MOST_BUILDS = 40  # that are shown at once
_OF_OPERATORS = "build_history"  # whose points have alerts and notes
_OPERATOR = ("event_name", "delegate_id", "ordinal")
_SERIES = ("model", "backend", "run", *_OPERATOR)  # of a device or a pool
_NOTED = ("device", "pool", "model", "backend")  # what a note is on, besides an operator
_HOTSPOTS = "/explore/operator_hotspots"
_POOLS = "SELECT name, pool FROM devices"


class NoteForm(NamedTuple):
    """The choices of the form of a note: builds, the chosen one, and series as value and name."""

    builds: Sequence[str]
    at: str
    series: Sequence[tuple[str, str]]
    operator: dict[str, str]


def choose_builds(request: PageRequest) -> tuple[list[str], str]:
    """The newest of the chosen builds, or those around the one in the address (at=); and a note.

    Raises:
        Problem: 400 if no chosen build has that name.
    """
    builds = [row["build"] for row in request.rows("page_builds")[1:]]
    at = request.fields.get("at")
    if at is not None and at not in builds:
        raise Problem(400, "at", f"at={at}: no chosen build has this name")
    end = max(MOST_BUILDS, builds.index(at) + MOST_BUILDS // 2) if at else len(builds)
    shown = builds[:end][-MOST_BUILDS:]
    every = count_text(len(builds), "build")
    is_part = len(shown) < len(builds)
    return shown, f"{len(shown)} of {every}: filter by build to see others." if is_part else ""


def history_parts(
    request: PageRequest, header: Header, table: pa.Table, builds: list[str]
) -> dict[str, Any]:
    """The chart of a few series with its points, or a sparkline for each of many."""
    keys, series = series_columns(table), dict[tuple[Any, ...], list[Row]]()
    for row in table.to_pylist():
        series.setdefault(tuple(row[key] for key in keys), []).append(row)
    lasts = [points[-1] for points in series.values()]
    is_of_operators = header.name == _OF_OPERATORS
    notes = find_notes(request, builds) if is_of_operators else []
    own = [choose_notes(notes, [pick(row, *keys)]) for row in lasts]
    marks = known_marks(request, lasts) if is_of_operators else [[] for _ in lasts]
    every = [[*one, *map(note_mark, found)] for one, found in zip(marks, own, strict=True)]
    parts = {
        "charts": _charts(request, header.name, table, (lasts, every, builds)),
        "notes": note_table(request, [one for one in notes if any(one in found for found in own)]),
        "note_form": note_form(request, builds, lasts) if is_of_operators else None,
    }
    if is_of_operators:
        parts["title"] = f"{_subject(lasts)}, build by build"
    if len(series) == 1:
        newest_first = table.take(list(range(table.num_rows - 1, -1, -1)))
        column = [Column("Notes", lambda row: _notes_cell(choose_notes(notes, [row])))]
        return parts | {"shown": answer_table(request, header, newest_first, column[: len(own[0])])}
    value = HISTORIES[header.name]
    sparks = {
        key: (points, found) for (key, points), found in zip(series.items(), every, strict=True)
    }

    def spark(row: Row) -> Cell:
        points, found = sparks[tuple(row[key] for key in keys)]
        values = {point["build"]: point[value] for point in points}
        line = [values.get(build) for build in builds]
        picture = spark_plot(builds, place_of(row), line, found)
        place = pick(row, *PLACE, *(name for name in _OPERATOR if name in row))
        return Cell("", history_link(**place) if is_of_operators else "", picture)

    lasts.sort(key=lambda row: -(row["change"] if row["change"] is not None else -1e9))
    newest = pa.Table.from_pylist(lasts, schema=table.schema)
    shown = answer_table(request, header, newest, [Column("History", spark)])
    return parts | {"shown": shown, "count": f"{len(lasts):,} series, the newest build of each"}


def _charts(
    request: PageRequest,
    name: str,
    table: pa.Table,
    shown: tuple[list[Row], list[list[Mark]], list[str]],
) -> list[Chart]:
    """The lines of a few series, whose points lead to the operators of their builds."""
    rows, marks, builds = shown
    if len(rows) > MOST_LINES:
        return []
    is_of_operators = name == _OF_OPERATORS
    values = _dump_values(request, table, builds) if is_of_operators else []
    chart = history_chart(
        name,
        table,
        builds,
        values=values,
        href=lambda row, build: link(_HOTSPOTS, **pick(row, *PLACE), build=build),
    )
    at = request.fields.get("at", "")
    chart = chart._replace(
        what=_subject(rows) if is_of_operators else name,
        marks=merge_marks(marks),
        at=at,
    )
    return draw_chart(request, chart)


def _dump_values(request: PageRequest, table: pa.Table, builds: list[str]) -> list[Row]:
    """The values of the dumps of a history, which may have two speeds; none if they are many."""
    if pc.sum(table["dump_count"]).as_py() > MOST_ROWS:
        return []
    names = ("event", "delegate_id", "ordinal")
    named: dict[str, object] = {
        name: given if name != "ordinal" else int(given[-1])
        for name in names
        if (given := request.filters.get(name))
    }
    return request.rows("dump_values", build=builds, **named)


def _subject(rows: Sequence[Row]) -> str:
    """The operator of the rows, if there is only one."""
    names = {operator_text(row["event_name"], row["delegate_id"], row["ordinal"]) for row in rows}
    return names.pop() if len(names) == 1 else "Operators"


def known_marks(request: PageRequest, rows: Sequence[Row]) -> list[list[Mark]]:
    """For each series, its marks from the last nightly report; none before a night is judged.

    A visitor limited to device pools gets no links, as such a visitor cannot open the report.
    """
    night = last_night(request.store, Settings())
    if night is None:
        return [[] for _ in rows]
    pools = {row["name"]: row["pool"] for row in request.store.sql(_POOLS).to_pylist()}
    placed = [{**row, "pool": pools.get(row["device"])} for row in rows]
    return alert_marks(night.report, placed, has_links=request.bearer.pools is None)


def alert_marks(
    report: Report, rows: Sequence[Mapping[str, Any]], *, has_links: bool
) -> list[list[Mark]]:
    """For each series, the marks of the alerts that it is part of; links lead to the report.

    A series of a device is part of an alert of its pool, too.
    """
    places: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        series = [row[name] for name in _SERIES]
        places[row["device"], None, *series].append(number)
        places[None, row["pool"], *series].append(number)
    found: list[list[Mark]] = [[] for _ in rows]
    for group in report.groups:
        href = f"{link('/regressions', head=report.head)}#{group.id}" if has_links else ""
        for member in (*group.members, *group.explains):
            for number in places.get(_key(member), ()):
                found[number] += _marks(group, member, href)
    return [merge_marks([marks]) for marks in found]


def merge_marks(every: Iterable[Sequence[Mark]]) -> list[Mark]:
    """The marks of a chart with several series: an alert has one at a place, that of the first."""
    first: dict[tuple[str, ...], Mark] = {}
    for mark in (mark for marks in every for mark in marks):
        first.setdefault((mark.place, mark.kind, mark.href), mark)
    return list(first.values())


def _key(member: Member) -> tuple[object, ...]:
    pool = member.pool if member.device is None else None
    return member.device, pool, *(getattr(member, name) for name in _SERIES)


def _marks(group: Group, member: Member, href: str) -> Iterator[Mark]:
    name = member_operator(member)
    text = f"{name} {delta_text(member.delta)}, {group.state.label}"
    yield Mark(group.first_bad, text, "bad" if group.direction == "regression" else "good", href)
    if group.fixed_in is not None:
        yield Mark(group.fixed_in, f"{name} is fixed", "good", href)


def find_notes(request: PageRequest, builds: Sequence[str] | None = None) -> list[Note]:
    """The notes on points of builds, or of all, that the visitor may see."""
    pool = {"pool": None} if request.bearer.pools is None else {}
    return [Note(**row) for row in request.rows("notes", build=builds, **pool)]


def open_note(request: PageRequest) -> Response:
    """Lead to the chart with the point of the note in the path.

    Raises:
        Problem: 404 if there is none that the visitor may see.
    """
    wanted = request.path.rpartition("/")[2]
    note = next((one for one in find_notes(request) if one.note_id == wanted), None)
    if note is None:
        detail = f"no note {wanted}: it was withdrawn, or its dumps were forgotten"
        raise Problem(404, "unknown_note", detail)
    place = pick(vars(note), *_NOTED) | ({"pool": None} if note.device else {})
    operator = pick(vars(note), *_OPERATOR) if note.event_name else {}
    return RedirectResponse(history_link(**operator, **place, at=note.build), 303)


def note_table(request: PageRequest, notes: Sequence[Note]) -> list[Table]:
    """A table of notes, the newest first; none without notes."""
    rows = [{**vars(note), "where": note.where} for note in reversed(notes)]
    return [listing(request, "Notes", _COLUMNS, Shown(rows))] if rows else []


def note_form(request: PageRequest, builds: Sequence[str], rows: Sequence[Row]) -> NoteForm | None:
    """The form for the series of rows; None for a visitor who may not write notes."""
    if request.bearer.scopes.isdisjoint(SCOPES):
        return None
    given = {
        urlencode({name: row[name] for name in _NOTED if row.get(name)}): place_of(row)
        for row in rows
    }
    named = {name: request.filters.get(name) for name in ("event", "delegate_id", "ordinal")}
    operator = {name: values[-1] for name, values in named.items() if values}
    if operator.get("event") == METHOD:
        operator = {}
    at = request.fields.get("at") or builds[-1]
    return NoteForm(builds, at, list(given.items()), operator)


def _notes_cell(notes: Sequence[Note]) -> Cell:
    if not notes:
        return Cell("")
    last = notes[-1]
    return Cell(and_more(f"{last.build}: {last.text}", len(notes)), last.href)


_COLUMNS = (
    Column("Build", lambda row: row["build"]),
    Column("Note", lambda row: Cell(row["text"], f"/notes/{row['note_id']}")),
    Column("On", lambda row: row["where"]),
    Column("By", lambda row: row["written_by"]),
    Column("Written", lambda row: date_text(row["written_at"])),
)
