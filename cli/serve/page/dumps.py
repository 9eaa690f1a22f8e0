"""The views of the newest dumps, and of one dump: its facts, and a run on a time axis."""

from __future__ import annotations

import json
from typing import Any

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import (
    PLACE,
    Cell,
    Row,
    age_text,
    date_text,
    link,
    more_text,
    pick,
    place_of,
)
from tracehouse.cli.serve.page.listing import Column, Shown, listing, turn_pages
from tracehouse.cli.serve.page.page_request import MOST_ROWS, PageRequest
from tracehouse.cli.serve.page.timeline import PART_FIELDS, Slice, read_part, timeline_chart
from tracehouse.queries.report.figures import NONE, count_text, duration_text, number_text

ROWS, EVENTS = 50, 100  # of a page
FIELDS = ("page",)
DUMP_FIELDS = ("run", "page", *PART_FIELDS)
_ONE = "SELECT * FROM named_dumps WHERE starts_with(sha256, $sha256) LIMIT 2"


def dumps(request: PageRequest) -> dict[str, Any]:
    """A line for each dump, the newest first."""
    builds = request.rows("page_builds")
    count = builds[0]["dump_count"] if builds else 0
    start, pager = turn_pages(request, count, size=ROWS)
    rows = request.rows("page_dumps", most=ROWS, before=start) if count else []
    table = listing(request, "Newest dumps", _DUMP_COLUMNS, Shown(rows, pager=pager))
    return {
        "title": "Dumps",
        "tables": [table] if rows else [],
        "empty": "No dumps here: upload some, or clear the filters.",
    }


def dump(request: PageRequest) -> dict[str, Any]:
    """A dump's facts, and the run in the address (run=), else the one of median length."""
    found = _find(request, request.path.split("/")[2])
    run = request.fields.get("run") or None
    timeline = request.store.query("run_timeline", dump=found["dump_id"], run=run)
    events = timeline.slice(0, MOST_ROWS).to_pylist()
    rows = link("/v1/queries/run_timeline", dump=found["dump_id"], run=run)
    drawing = link(f"/dumps/{found['sha256']}/run.svg", run=run)
    whole = request.here(**dict.fromkeys(PART_FIELDS[:2], ""))
    start, pager = turn_pages(request, len(events), size=EVENTS)
    shown = [{**pick(found, *PLACE), **row} for row in events[start : start + EVENTS]]
    table = listing(request, "Events of the run", _EVENT_COLUMNS, Shown(shown, pager=pager))
    return {
        "title": f"Dump {found['sha256'][:12]}",
        "lead": f"{place_of(found)}, {found['build']}",
        "facts": _facts(found),
        "runs": _runs(found, events),
        "charts": timeline_chart(_slices(events), rows, drawing, read_part(request), whole),
        "tables": [table] if events else [],
        "empty": "The run has no events.",
        "cut": more_text(timeline.num_rows - MOST_ROWS, "event", "see the query run_timeline"),
    }


def read_run(request: PageRequest, dump_id: int) -> list[Slice]:
    """The events of a dump's run of median length that have a place on its time axis."""
    events = request.store.query("run_timeline", dump=dump_id)
    return _slices(events.slice(0, MOST_ROWS).to_pylist())


def _slices(events: list[Row]) -> list[Slice]:
    return [
        Slice(row["event_name"], row["kind"], row["start_ns"], row["duration_ns"])
        for row in events
        if row["start_ns"] is not None and row["duration_ns"] is not None
    ]


def _find(request: PageRequest, sha256: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = request.store.sql(_ONE, {"sha256": sha256.lower()}).to_pylist()
    if len(rows) != 1:
        problem = "several dumps" if rows else "no dump"
        raise Problem(404, "unknown_dump", f"{problem} of SHA-256 {sha256}")
    return rows[0]


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The dump's fields and tags, without internal ones."""
    tags = json.loads(found["tags"] or "{}")
    shown = {
        name.replace("_", " "): value
        for name, value in {**found, **tags, "tags": None}.items()
        if value is not None and name not in ("dump_id", "manifest")
    }
    return [(name, _text(value)) for name, value in shown.items()]


def _text(value: object) -> str:
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return number_text(value)
    return json.dumps(value, default=str)


def _runs(found: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    """The run that is shown, and the addresses of others."""
    index = events[0]["run_index"] if events else 0
    path = f"/dumps/{found['sha256']}"
    count = found["n_runs"] or 0
    return {
        "text": f"Run {index} of {count_text(count, 'run')}, numbered from 0",
        "before": link(path, run=str(index - 1)) if index > 0 else "",
        "after": link(path, run=str(index + 1)) if index + 1 < count else "",
        "median": link(path),
    }


def _event(row: Row) -> Cell:
    name, delegate = row["event_name"], row["delegate_id"]
    return Cell(name, link("/history", event=name, delegate_id=delegate, **pick(row, *PLACE)))


def _instruction(row: Row) -> str:
    return NONE if row["instruction_id"] is None else str(row["instruction_id"])


def _duration(row: Row) -> str:
    return "implausible" if row["is_flagged"] else duration_text(row["duration_ns"])


def _build(row: Row) -> Cell:
    return Cell(row["build"], link("/explore/operator_hotspots", **pick(row, "device", "build")))


_DUMP_COLUMNS = (
    Column("Dump", lambda row: Cell(row["sha256"][:12], link(f"/dumps/{row['sha256']}"))),
    Column("Build", _build),
    Column("Model", place_of),
    Column("Recorded", lambda row: date_text(row["captured_at"]), room="p2"),
    Column("Ingested", lambda row: age_text(row["ingested_at"]), room="p2"),
    Column("Runs", lambda row: f"{row['n_runs']:,}", is_number=True, room="p3"),
    Column("Events", lambda row: f"{row['n_events']:,}", is_number=True, room="p3"),
    Column("Bytes", lambda row: f"{row['byte_count']:,}", is_number=True, room="p3"),
)
_EVENT_COLUMNS = (
    Column("Event", _event),
    Column("Duration", _duration, is_number=True),
    Column("Start", lambda row: duration_text(row["start_ns"]), is_number=True, room="p2"),
    Column("Kind", lambda row: row["kind"], room="p2"),
    Column("Instruction", _instruction, is_number=True, room="p3"),
    Column("Delegate id", lambda row: row["delegate_id"] or "", room="p3"),
)
