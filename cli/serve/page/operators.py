"""Where the time of a build goes: the operators of each model on each device."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from cli.serve.page.fleet import build_order
from cli.serve.page.site import Cell, Table, Visit, link, view
from queries.report.figures import duration_text, name_text, place_text

TOP = 30  # operators of a model on a device
MOST_TABLES = 12
_KEYS = ("device", "model", "backend")


@view
def operators(visit: Visit) -> tuple[str, dict[str, Any]]:
    """A table for each model on each device, of one build: by default the newest chosen."""
    builds = visit.filters.get("build") or _newest_build(visit)
    rows = visit.rows("operator_hotspots", top_n=TOP, build=builds) if builds else []
    tables = [
        _table(key, list(found))
        for key, found in groupby(rows, lambda row: tuple(row[name] for name in (*_KEYS, "build")))
    ]
    more = len(tables) - MOST_TABLES
    return "tables.html.jinja", {
        "title": "Operators",
        "lead": "Where the time goes: self time is time not spent in what an operator calls.",
        "tables": tables[:MOST_TABLES],
        "empty": "No complete run is recorded here: widen the filters.",
        "cut": f"{more:,} more tables: filter them." if more > 0 else "",
    }


def _newest_build(visit: Visit) -> list[str]:
    rows = visit.rows("coverage")
    there = {row["build"] for row in rows}
    return [build for build in build_order(visit) if build in there][-1:]


def _table(key: tuple[Any, ...], rows: list[dict[str, Any]]) -> Table:
    device, model, backend, build = key
    return Table(
        f"{place_text(device, model, backend)}, {name_text(build)}",
        ("Operator", "Kind", "Share", "Self time per call", "Mean", "Calls"),
        [_row(row) for row in rows],
        frozenset({2, 3, 4, 5}),
    )


def _row(row: dict[str, Any]) -> list[Cell]:
    where = {name: row[name] for name in _KEYS}
    name, delegate, instruction = row["event_name"], row["delegate_id"], row["instruction_id"]
    target = link("/operator", event=name, delegate_id=delegate, **where)
    place = "" if instruction is None else f" @{instruction}"
    own = None if row["self_ns"] is None else row["self_ns"] / row["call_count"]
    share = row["self_share"]
    return [
        Cell(f"{name}{place}", target),
        Cell(row["kind"]),
        Cell("" if share is None else f"{share:.1%}"),
        Cell(duration_text(own)),
        Cell(duration_text(row["mean_ns"])),
        Cell(f"{row['call_count']:,}"),
    ]
