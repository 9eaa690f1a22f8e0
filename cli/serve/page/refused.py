"""What was refused, and why; what has come in since is told apart."""

from __future__ import annotations

from typing import Any

from cli.serve.page.site import Cell, Table, Visit, view
from cli.serve.pools import need_all_pools
from queries.report.figures import NONE

MOST = 300
_TITLES = {False: "Still refused", True: "Settled since"}


@view
def refused(visit: Visit) -> tuple[str, dict[str, Any]]:
    """A table of what is still refused, and one of what is settled; the newest first."""
    need_all_pools(visit.bearer, "this view")
    rows = visit.store.query("ingest_errors").to_pylist()[::-1]
    tables = [
        _table(title, [row for row in rows if row["is_resolved"] == is_resolved])
        for is_resolved, title in _TITLES.items()
    ]
    return "tables.html.jinja", {
        "title": "Refused",
        "tables": [table for table in tables if table.rows],
        "empty": "Nothing was refused.",
        "cut": f"Only {MOST} of each kind are shown." if len(rows) > MOST else "",
    }


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    columns = ("Refused", "Source", "Reason", "Offset", "What was found", "SHA-256")
    return Table(title, columns, [_row(row) for row in rows[:MOST]], frozenset({3}))


def _row(row: dict[str, Any]) -> list[Cell]:
    offset = row["byte_offset"]
    return [
        Cell(f"{row['refused_at']:%Y-%m-%d %H:%M}Z"),
        Cell(row["source"]),
        Cell(row["reason"]),
        Cell(NONE if offset is None else f"{offset:,}"),
        Cell(row["detail"]),
        Cell((row["sha256"] or NONE)[:12]),
    ]
