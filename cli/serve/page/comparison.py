"""The view that compares two builds: each operator with its change and the verdict on it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.page.cells import Cell, Row, link, pick
from tracehouse.cli.serve.page.listing import Column, listing, sort_page
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.figures import (
    cost_text,
    delta_text,
    duration_text,
    name_text,
    operator_text,
)
from tracehouse.queries.report.pair_breakdowns import PairBreakdowns
from tracehouse.queries.report.tables import list_sums
from tracehouse.queries.report.tally import TALLIED, tally_operators
from tracehouse.warehouse.regressions.verdicts import SeriesVerdict

BUILDS = {"base": "the one before", "head": "the last build"}
FIELDS = (*BUILDS, "sort", "page")
_LEVELS = ("method", "delegate", "operator")


def comparison(request: PageRequest) -> dict[str, Any]:
    """What the changes of methods consist of, and all operators, of two builds, costliest first.

    By default, they are the last two.

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
    table = request.table("comparison", base=base, head=head)
    rows = table.filter(pc.is_in(table["level"], pa.array(_LEVELS)))
    shown = sort_page(request, rows, _COLUMNS, sort="-cost_ns")
    places = {name: request.filters.get(name) for name in ("device", "pool")}
    for row in shown.rows:
        operator = pick(row, "delegate_id", "ordinal", "model", "backend")
        row["href"] = link("/operator", event=row["event_name"], **operator, **places)
    title = f"{name_text(head)} against {name_text(base)}"
    chosen = {name: values for name, values in request.filters.items() if name != "build"}
    tested = link("/v1/queries/comparison", base=base, head=head, **chosen, format="csv")
    note = tally_operators(rows.select(TALLIED).to_pylist()).tally.text
    pair = PairBreakdowns(request.store, table.to_pylist(), base=base, head=head)
    return {
        **parts,
        "sums": list_sums(pair.of_changed_methods()),
        "tables": [listing(request, title, _COLUMNS, shown, note=f"{note}.")],
        "files": [("All levels of this comparison, as CSV", tested)],
    }


def _operator(row: Row) -> Cell:
    name = operator_text(row["event_name"], row["delegate_id"], row["ordinal"])
    run = f" in {name_text(row['run'])}" if " " in row["run"] else ""
    return Cell(f"{name}{run}", row["href"])


def _model(row: Row) -> str:
    return " · ".join(name_text(row[name]) for name in ("model", "backend") if row[name])


def _cost(row: Row) -> str:
    return cost_text(row["cost_ns"] or None)  # of what is no change it is 0


_COLUMNS = (
    Column("Operator", _operator, "event_name"),
    Column("Change", lambda row: delta_text(row["delta"]), "delta", is_number=True),
    Column("Base", lambda row: duration_text(row["base_ns"]), "base_ns", is_number=True),
    Column("Head", lambda row: duration_text(row["head_ns"]), "head_ns", is_number=True),
    Column("Cost per run", _cost, "cost_ns", is_number=True),
    Column("Verdict", lambda row: SeriesVerdict(row["verdict"]).words, "verdict"),
    Column("Model", _model, "model"),
    Column("Device", lambda row: name_text(row["device"]), "device"),
)
