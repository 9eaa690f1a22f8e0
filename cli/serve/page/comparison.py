"""The view that compares two builds: operators with their time in both, and the change."""

from __future__ import annotations

from typing import Any

from cli.serve.http.problems import Problem
from cli.serve.page.cells import Cell, Row, link, pick
from cli.serve.page.listing import Column, listing, sort_page
from cli.serve.page.page_request import PageRequest
from queries.report.figures import cost_text, delta_text, duration_text, name_text, operator_text

BUILDS = {"base": "the one before", "head": "the last build"}
FIELDS = (*BUILDS, "sort", "page")


def comparison(request: PageRequest) -> dict[str, Any]:
    """The operators of two builds, by default the last two; the largest cost comes first.

    Raises:
        Problem: 400 if the two are the same build.
    """
    builds = [row["build"] for row in request.rows("page_builds")[1:]]
    head = request.fields.get("head") or (builds[-1] if builds else "")
    earlier = builds[: builds.index(head)] if head in builds else builds
    base = request.fields.get("base") or (earlier[-1] if earlier else "")
    parts = {
        "title": "Compare",
        "empty": "Two builds are needed here: name them, or widen the filters.",
    }
    if not base or not head:
        return parts
    if base == head:
        raise Problem(400, "base", f"base and head are both {name_text(base)}: name two builds")
    rows = request.table("page_comparison", base=base, head=head, build=[base, head])
    shown = sort_page(request, rows, _COLUMNS, sort="-cost_ns")
    note = (
        "Times are medians of devices; change and difference are the medians of each device's own."
    )
    places = {name: request.filters.get(name) for name in ("device", "pool")}
    for row in shown.rows:
        operator = pick(row, "delegate_id", "ordinal", "model", "backend")
        row["href"] = link("/operator", event=row["event_name"], **operator, **places)
    title = f"{name_text(base)} against {name_text(head)}"
    chosen = {name: values for name, values in request.filters.items() if name != "build"}
    tested = link("/v1/queries/comparison", base=base, head=head, **chosen, format="csv")
    return {
        **parts,
        "tables": [listing(request, title, _COLUMNS, shown, note=note)],
        "files": [("Verdicts of these changes, as CSV", tested)],
    }


def _operator(row: Row) -> Cell:
    name = operator_text(row["event_name"], row["delegate_id"], row["ordinal"])
    run = f" in {name_text(row['run'])}" if " " in row["run"] else ""
    return Cell(f"{name}{run}", row["href"])


def _model(row: Row) -> str:
    return " · ".join(name_text(row[name]) for name in ("model", "backend") if row[name])


_COLUMNS = (
    Column("Operator", _operator, "event_name"),
    Column("Change", lambda row: delta_text(row["delta"]), "delta", is_number=True),
    Column("Base", lambda row: duration_text(row["base_ns"]), "base_ns", is_number=True),
    Column("Head", lambda row: duration_text(row["head_ns"]), "head_ns", is_number=True),
    Column("Difference", lambda row: cost_text(row["cost_ns"]), "cost_ns", is_number=True),
    Column("Model", _model, "model"),
    Column("Devices", lambda row: f"{row['device_count']:,}", "device_count", is_number=True),
)
