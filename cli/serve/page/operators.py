"""The view of operators: where the time of a build goes, for each model on each device."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from cli.serve.page.cells import PLACE, Cell, Row, link, pick
from cli.serve.page.listing import Column, Table, plain_table, turn_pages
from cli.serve.page.page_request import PageRequest
from queries.report.figures import count_text, duration_text, name_text, place_text

TOP = 30  # operators of a model on a device
TABLES = 12  # of a page
MOST_DEVICES = 8  # of more devices, the operators of their pools are shown
FIELDS = ("page",)


def operators(request: PageRequest) -> dict[str, Any]:
    """A table for each model on each device or pool, of the chosen builds or the newest."""
    builds = request.rows("page_builds")[1:]
    shown = builds if "build" in request.filters else builds[-1:]
    count = max((row["device_count"] for row in shown), default=0)
    is_pooled = count > MOST_DEVICES
    rows = (
        request.rows(
            "operator_hotspots",
            top_n=TOP,
            build=[row["build"] for row in shown],
            group_by="pool" if is_pooled else None,
        )
        if shown
        else []
    )
    names = (*PLACE, "group", "build")
    groups = [list(group) for _, group in groupby(rows, lambda row: [row[name] for name in names])]
    start, pager = turn_pages(request, len(groups), size=TABLES)
    lead = "Self time is without the calls that an operator makes."
    if is_pooled:
        lead += (
            f" A table is of a pool, all {count_text(count, 'device')} taken together: filter by "
        )
        lead += f"device, at most {MOST_DEVICES} at a time, for tables of devices."
    return {
        "title": "Operators",
        "lead": lead,
        "tables": [_table(group) for group in groups[start : start + TABLES]],
        "empty": "No build has a complete run here: widen the filters.",
        "pager": pager,
    }


def _table(rows: list[Row]) -> Table:
    first = rows[0]
    place = place_text(first["device"], first["model"], first["backend"], first["group"])
    return plain_table(f"{place}, {name_text(first['build'])}", _COLUMNS, rows)


def _operator(row: Row) -> Cell:
    name, delegate, instruction = row["event_name"], row["delegate_id"], row["instruction_id"]
    where = {**pick(row, *PLACE), "pool": row["group"]}
    place = "" if instruction is None else f" @{instruction}"
    return Cell(f"{name}{place}", link("/operator", event=name, delegate_id=delegate, **where))


def _own_time(row: Row) -> str:
    own = row["self_ns"]
    return duration_text(None if own is None else own / row["call_count"])


_COLUMNS = (
    Column("Operator", _operator),
    Column("Share", lambda row: "" if row["self_share"] is None else f"{row['self_share']:.1%}",
           is_number=True),
    Column("Self time per call", _own_time, is_number=True),
    Column("Mean", lambda row: duration_text(row["mean_ns"]), is_number=True),
    Column("Calls", lambda row: f"{row['call_count']:,}", is_number=True),
    Column("Kind", lambda row: row["kind"]),
)  # fmt: skip
