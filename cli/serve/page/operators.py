"""The view of operators: where the time of a build goes, for each model on each device."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from cli.serve.page.site import (
    PLACE,
    Cell,
    PageRequest,
    Parts,
    Table,
    link,
    more_text,
    pick,
    place_of,
)
from queries.report.figures import duration_text, name_text

TOP = 30  # operators of a model on a device
MOST_TABLES = 12


def operators(request: PageRequest) -> Parts:
    """A table for each model on each device, of the chosen builds, by default the newest."""
    builds = request.filters.get("build") or request.builds(request.rows("coverage"))[-1:]
    rows = request.rows("operator_hotspots", top_n=TOP, build=builds) if builds else []
    tables = [
        _table(list(group))
        for _, group in groupby(rows, lambda row: [row[name] for name in (*PLACE, "build")])
    ]
    return {
        "title": "Operators",
        "lead": "Self time is without the calls that an operator makes.",
        "tables": tables[:MOST_TABLES],
        "empty": "No build has a complete run here: widen the filters.",
        "cut": more_text(len(tables) - MOST_TABLES, "table"),
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    return Table(
        f"{place_of(rows[0])}, {name_text(rows[0]['build'])}",
        ("Operator", "Kind", "Share", "Self time per call", "Mean", "Calls"),
        [_row(row) for row in rows],
        frozenset({2, 3, 4, 5}),
    )


def _row(row: dict[str, Any]) -> list[Cell | str]:
    name, delegate, instruction = row["event_name"], row["delegate_id"], row["instruction_id"]
    target = link("/operator", event=name, delegate_id=delegate, **pick(row, *PLACE))
    place = "" if instruction is None else f" @{instruction}"
    own, share = row["self_ns"], row["self_share"]
    return [
        Cell(f"{name}{place}", target),
        row["kind"],
        "" if share is None else f"{share:.1%}",
        duration_text(None if own is None else own / row["call_count"]),
        duration_text(row["mean_ns"]),
        f"{row['call_count']:,}",
    ]
