"""The views of the newest dumps, and of one dump: its facts, and a run on a time axis."""

from __future__ import annotations

import json
from typing import Any

from cli.serve.http.problems import Problem
from cli.serve.page.charts import Chart, Slice, timeline_plot
from cli.serve.page.fleet import age_text
from cli.serve.page.site import (
    MOST_ROWS,
    NAMES,
    PLACE,
    Cell,
    PageRequest,
    Parts,
    Table,
    date_text,
    link,
    more_text,
    pick,
    place_of,
)
from queries.report.figures import NONE, count_text, duration_text, number_text

MOST_DUMPS = 200
MOST_EVENTS = 500
_COUNTS = ("n_runs", "n_events", "byte_count")
_SHOWN = ", ".join(("sha256", *PLACE, "build", "captured_at", "ingested_at", *_COUNTS))
_NEWEST = (
    f"SELECT {_SHOWN} FROM named_dumps WHERE "  # noqa: S608 - constant names
    + " AND ".join(
        f"($none_{name} OR {name} IN (SELECT unnest($of_{name})) "
        f"OR len(list_filter($of_{name}, lambda one: {name} GLOB one)) > 0)"
        for name in NAMES
    )
    + f" ORDER BY dump_id DESC LIMIT {MOST_DUMPS + 1}"
)
_ONE = "SELECT * FROM named_dumps WHERE starts_with(sha256, $sha256) LIMIT 2"


def dumps(request: PageRequest) -> Parts:
    """A line for each dump, the newest first."""
    chosen = request.chosen()
    params: dict[str, object] = {f"none_{name}": name not in chosen for name in NAMES}
    params |= {f"of_{name}": chosen.get(name, [""]) for name in NAMES}
    rows = request.store.sql(_NEWEST, params).to_pylist()
    table = Table(
        "Newest dumps",
        ("Dump", "Model", "Build", "Recorded", "Ingested", "Runs", "Events", "Bytes"),
        [_row(row) for row in rows[:MOST_DUMPS]],
        frozenset({5, 6, 7}),
    )
    return {
        "title": "Dumps",
        "tables": [table] if rows else [],
        "empty": "No dumps here: upload some, or clear the filters.",
        "cut": f"Only the newest {MOST_DUMPS} dumps are shown." if len(rows) > MOST_DUMPS else "",
    }


def dump(request: PageRequest) -> Parts:
    """A dump's facts, and the run in the address (run=), else the one of median length."""
    found = _find(request, request.address["sha256"])
    run = request.address.get("run") or None
    timeline = request.store.query("run_timeline", dump=found["dump_id"], run=run)
    events = timeline.slice(0, MOST_ROWS).to_pylist()
    slices = [
        Slice(row["event_name"], row["kind"], row["start_ns"], row["duration_ns"])
        for row in events
        if row["start_ns"] is not None and row["duration_ns"] is not None
    ]
    table = Table(
        "Events of the run",
        ("Event", "Instruction", "Delegate id", "Kind", "Start", "Duration"),
        [_event(row, found) for row in events[:MOST_EVENTS]],
        frozenset({1, 4, 5}),
    )
    return {
        "title": f"Dump {found['sha256'][:12]}",
        "lead": f"{place_of(found)}, {found['build']}",
        "facts": _facts(found),
        "runs": _runs(found, events),
        "charts": [Chart(timeline_plot(slices))] if slices else [],
        "tables": [table] if events else [],
        "empty": "The run has no events.",
        "cut": more_text(timeline.num_rows - MOST_EVENTS, "event", "see the query run_timeline"),
        "filter_names": (),
    }


def _find(request: PageRequest, sha256: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = request.store.sql(_ONE, {"sha256": sha256.lower()}).to_pylist()
    pools = request.bearer.pools
    visible = [row for row in rows if pools is None or row["pool"] in pools]
    if len(visible) != 1:
        problem = "several dumps" if visible else "no dump"
        raise Problem(404, "unknown_dump", f"{problem} of SHA-256 {sha256}")
    return visible[0]


def _row(row: dict[str, Any]) -> list[Cell | str]:
    return [
        Cell(row["sha256"][:12], link(f"/dumps/{row['sha256']}")),
        place_of(row),
        Cell(row["build"], link("/operators", **pick(row, "device", "build"))),
        NONE if row["captured_at"] is None else date_text(row["captured_at"]),
        age_text(row["ingested_at"]),
        *(f"{row[name]:,}" for name in _COUNTS),
    ]


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


def _event(row: dict[str, Any], found: dict[str, Any]) -> list[Cell | str]:
    name, delegate = row["event_name"], row["delegate_id"]
    target = link("/operator", event=name, delegate_id=delegate, **pick(found, *PLACE))
    instruction = row["instruction_id"]
    return [
        Cell(name, target),
        NONE if instruction is None else str(instruction),
        delegate or "",
        row["kind"],
        duration_text(row["start_ns"]),
        "implausible" if row["is_flagged"] else duration_text(row["duration_ns"]),
    ]
