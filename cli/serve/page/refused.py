"""What was refused, and why; what has come in since is told apart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cli.serve.access.pools import need_all_pools
from cli.serve.page.site import Cell, Table, Visit, view
from queries.report.figures import NONE

MOST = 300
_TITLES = {False: "Still refused", True: "Settled since"}


@view
def refused(visit: Visit) -> tuple[str, dict[str, Any]]:
    """A table of what is still refused, and one of what is settled; the newest first."""
    need_all_pools(visit.bearer, "this view")
    found = visit.store.query("ingest_errors")
    kinds = {
        title: found.filter(pc.field("is_resolved") == is_it) for is_it, title in _TITLES.items()
    }
    tables = [_table(title, rows) for title, rows in kinds.items()]
    is_cut = any(rows.num_rows > MOST for rows in kinds.values())
    return "tables.html.jinja", {
        "title": "Refused",
        "tables": [table for table in tables if table.rows],
        "empty": "Nothing was refused.",
        "cut": f"Only the last {MOST} of each kind are shown." if is_cut else "",
    }


def _table(title: str, rows: pa.Table) -> Table:
    columns = ("Refused", "Source", "Reason", "Offset", "What was found", "SHA-256")
    last = rows.slice(max(0, rows.num_rows - MOST)).to_pylist()[::-1]
    return Table(title, columns, [_row(row) for row in last], frozenset({3}))


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
