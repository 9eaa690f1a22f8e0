"""The view of operators: where the time of a build goes, for each model on each device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from tracehouse.cli.serve.page.cells import PLACE, Cell, Row, link, natural_key, pick
from tracehouse.cli.serve.page.listing import Column, Table, plain_table, turn_pages
from tracehouse.cli.serve.page.notes import add_notes, find_notes
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.figures import count_text, duration_text, name_text
from tracehouse.queries.report.notes import Note

TOP = 30  # operators of a table
TABLES = 12  # of a page
MOST_DEVICES = 8  # more devices are taken together
FIELDS = ("page",)
_LEAD = "Self time is without the calls that an operator makes."
_TOGETHER = (
    " Each table takes {} together: filter by device, at most {} at a time, for a table of each."
)


def operators(request: PageRequest) -> dict[str, Any]:
    """A table for each model on each device, of the chosen builds or the newest."""
    builds = request.rows("page_builds")[1:]
    shown = builds if "build" in request.filters else builds[-1:]
    if not shown:
        return {"title": "Operators", "empty": "No dumps here: upload some, or widen the filters."}
    count = max(row["device_count"] for row in shown)
    is_whole = count > MOST_DEVICES
    rows = request.rows(
        "operator_hotspots",
        top_n=TOP,
        build=[row["build"] for row in shown],
        group_by="backend" if is_whole else None,  # the group of a model is all its devices
    )
    names = (*PLACE, "build")
    groups = [list(group) for _, group in groupby(rows, lambda row: [row[name] for name in names])]
    places = {row["build"]: row["position"] for row in shown}
    groups.sort(key=lambda group: _order(group[0], places))
    start, pager = turn_pages(request, len(groups), size=TABLES)
    notes = find_notes(request, list(places))
    together = _TOGETHER.format(count_text(count, "device"), MOST_DEVICES) if is_whole else ""
    return {
        "title": "Operators",
        "lead": _LEAD + together,
        "tables": [_table(notes, group) for group in groups[start : start + TABLES]],
        "empty": "No build has a complete run here: widen the filters.",
        "pager": pager,
    }


def _order(row: Row, places: Mapping[str, int]) -> tuple[object, ...]:
    """A key for the order of tables: by names, and the newest build first."""
    names = [natural_key(row[name] or "") for name in PLACE]
    return names[0], -places[row["build"]], *names[1:]


def _table(notes: Sequence[Note], rows: list[Row]) -> Table:
    place = " · ".join(name_text(rows[0][name]) for name in PLACE if rows[0][name])
    columns = [*_COLUMNS, *add_notes(notes, rows)]
    return plain_table(f"{place}, {name_text(rows[0]['build'])}", columns, rows)


def _operator(row: Row) -> Cell:
    name, delegate, instruction = row["event_name"], row["delegate_id"], row["instruction_id"]
    target = link("/operator", event=name, delegate_id=delegate, **pick(row, *PLACE))
    return Cell(name if instruction is None else f"{name} @{instruction}", target)


def _own_time(row: Row) -> str:
    own = row["self_ns"]
    return duration_text(None if own is None else own / row["call_count"])


def _share(row: Row) -> str:
    return "" if row["self_share"] is None else f"{row['self_share']:.1%}"


_COLUMNS = (
    Column("Operator", _operator),
    Column("Share", _share, is_number=True),
    Column("Self time per call", _own_time, is_number=True),
    Column("Mean", lambda row: duration_text(row["mean_ns"]), is_number=True),
    Column("Calls", lambda row: f"{row['call_count']:,}", is_number=True),
    Column("Kind", lambda row: row["kind"]),
)
