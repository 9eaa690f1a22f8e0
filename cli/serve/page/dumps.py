"""The views of the newest dumps, and of one dump: its facts, and a run on a time axis."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.answer_table import answer_table
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
from tracehouse.cli.serve.page.charts import PART_FIELDS, read_part, timeline_chart
from tracehouse.cli.serve.page.listing import Column, Shown, listing, turn_pages
from tracehouse.cli.serve.page.page_request import MOST_ROWS, PageRequest
from tracehouse.queries.cells import Column as FactCell
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.timeline.run_picture import Slice
from tracehouse.warehouse.catalogue.queries import find_query

ROWS = 50  # of a page
FIELDS = ("page",)
DUMP_FIELDS = ("run", "sort", "page", *PART_FIELDS)
_KEYS = ("event_name", "delegate_id", "instruction_id")
_NUMBERS = """SELECT DISTINCT event_name, delegate_id, instruction_id, ordinal
FROM operator_stats
WHERE dump_id = $dump AND run = $run"""
_ONE = "SELECT * FROM named_dumps WHERE starts_with(sha256, $name) LIMIT 2"
_NUMBERED = "SELECT * FROM named_dumps WHERE dump_id = CAST($name AS BIGINT)"
_DIGITS = 12  # of a number, at most; a hash has more


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
    events = read_run(request, found["dump_id"], run)
    shown = events.slice(0, MOST_ROWS)
    for name in PLACE:  # which the links of operators need
        shown = shown.append_column(name, pa.array([found[name]] * shown.num_rows, pa.string()))
    header = find_query("run_timeline").header
    table = answer_table(request, header, shown.drop_columns(["run_index", "run_name"])).table
    drawing = link(f"/dumps/{found['sha256']}/run.svg", run=run)
    return {
        "title": f"Dump {found['sha256'][:12]}",
        "lead": f"{place_of(found)}, {found['build']}",
        "facts": _facts(found),
        "runs": _runs(found, events),
        "charts": timeline_chart(slices_of(events), drawing, read_part(request)),
        "tables": [replace(table, title="Events of the run")] if events.num_rows else [],
        "empty": "The run has no events.",
        "cut": more_text(events.num_rows - MOST_ROWS, "event", "see the query run_timeline"),
    }


def read_run(request: PageRequest, dump_id: int, run: str | None = None) -> pa.Table:
    """The events of a run, by default of median length, with the numbers of their operators."""
    events = request.store.query("run_timeline", dump=dump_id, run=run)
    name = events["run_name"][0].as_py() if events.num_rows else ""
    numbers = {
        tuple(row[key] for key in _KEYS): row["ordinal"]
        for row in request.store.sql(_NUMBERS, {"dump": dump_id, "run": name}).to_pylist()
    }
    keys = zip(*(events[key].to_pylist() for key in _KEYS), strict=True)
    return events.append_column("ordinal", pa.array(map(numbers.get, keys), pa.int32()))


def slices_of(events: pa.Table) -> list[Slice]:
    """The events that have a place on the time axis."""
    return [
        Slice(row["event_name"], row["delegate_id"], row["ordinal"], row["kind"],
              row["start_ns"], row["duration_ns"])
        for row in events.slice(0, MOST_ROWS).to_pylist()
        if row["start_ns"] is not None and row["duration_ns"] is not None
    ]  # fmt: skip


def _find(request: PageRequest, name: str) -> dict[str, Any]:
    """The dump with the number in the store, or with the begin of the SHA-256.

    Raises:
        Problem: 404 if there is none, or several.
    """
    text = _NUMBERED if name.isdecimal() and len(name) <= _DIGITS else _ONE
    rows: list[dict[str, Any]] = request.store.sql(text, {"name": name.lower()}).to_pylist()
    if len(rows) != 1:
        problem = "several dumps" if rows else "no dump"
        raise Problem(404, "unknown_dump", f"{problem} of the number or SHA-256 {name}")
    return rows[0]


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The dump's fields and tags, without internal ones."""
    tags = json.loads(found["tags"] or "{}")
    shown = {
        name.replace("_", " "): value
        for name, value in {**found, **tags, "tags": None}.items()
        if value is not None and name not in ("dump_id", "manifest")
    }
    return [(name, FactCell(name).text(value) or "") for name, value in shown.items()]


def _runs(found: dict[str, Any], events: pa.Table) -> dict[str, Any]:
    """The run that is shown, and the addresses of others."""
    index = events["run_index"][0].as_py() if events.num_rows else 0
    path = f"/dumps/{found['sha256']}"
    count = found["n_runs"] or 0
    return {
        "text": f"Run {index} of {count_text(count, 'run')}, counted from 0",
        "before": link(path, run=str(index - 1)) if index > 0 else "",
        "after": link(path, run=str(index + 1)) if index + 1 < count else "",
        "median": link(path),
    }


def _build(row: Row) -> Cell:
    return Cell(row["build"], link("/explore/operator_hotspots", **pick(row, "device", "build")))


_DUMP_COLUMNS = (
    Column("Dump", lambda row: Cell(row["sha256"][:12], link(f"/dumps/{row['sha256']}"))),
    Column("Build", _build),
    Column("Where", place_of),
    Column("Recorded", lambda row: date_text(row["captured_at"]), room="p2"),
    Column("Ingested", lambda row: age_text(row["ingested_at"]), room="p2"),
    Column("Runs", lambda row: f"{row['n_runs']:,}", is_number=True, room="p3"),
    Column("Events", lambda row: f"{row['n_events']:,}", is_number=True, room="p3"),
    Column("Bytes", lambda row: f"{row['byte_count']:,}", is_number=True, room="p3"),
)
