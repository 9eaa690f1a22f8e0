"""Notes on points: in tables, their form, and the addresses that open the chart of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import Cell, Row, date_text, link, pick
from tracehouse.cli.serve.page.listing import Column, Table, plain_table
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.cli.serve.page.triage import SCOPES
from tracehouse.queries.report.figures import and_more
from tracehouse.queries.report.notes import Note, choose_notes

SERIES = ("device", "pool", "model", "backend")


class NoteForm(NamedTuple):
    """The choices of the form of a note: builds, the chosen one, and series as value and name."""

    builds: Sequence[str]
    at: str
    series: Sequence[tuple[str, str]]
    operator: dict[str, str]


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
    operator = pick(vars(note), "delegate_id", "ordinal") if note.event_name else {}
    place = pick(vars(note), *SERIES) | ({"pool": None} if note.device else {})
    chart = link("/history", event=note.event_name, **operator, **place, at=note.build)
    return RedirectResponse(chart, 303)


def add_notes(notes: Sequence[Note], rows: Sequence[Row]) -> list[Column]:
    """Add to each row its own `notes`; returns the column of notes, or none if no row has any."""
    for row in rows:
        row["notes"] = choose_notes(notes, [row])
    return [Column("Notes", _notes_cell)] if any(row["notes"] for row in rows) else []


def note_table(notes: Sequence[Note]) -> list[Table]:
    """A table of notes, the newest first; none without notes."""
    rows = [{**vars(note), "where": note.where} for note in reversed(notes)]
    return [plain_table("Notes", _COLUMNS, rows)] if rows else []


def note_form(
    request: PageRequest, builds: Sequence[str], series: Iterable[tuple[str, Row]], **operator: str
) -> NoteForm | None:
    """The form for series by name; None for a visitor who may not write notes."""
    if request.bearer.scopes.isdisjoint(SCOPES):
        return None
    given = [
        (urlencode({name: row[name] for name in SERIES if row[name] and name != "pool"}), name)
        for name, row in series
    ]
    at = request.fields.get("at") or builds[-1]
    return NoteForm(builds, at, list(dict(given).items()), operator)


def _notes_cell(row: Row) -> Cell:
    notes = row["notes"]
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
