"""The view of refused files; resolved refusals have their own table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cli.serve.access.pools import need_all_pools
from cli.serve.page.site import Cell, PageRequest, Parts, Table, date_text
from queries.report.figures import NONE

MOST = 300
_TITLES = {False: "Still refused", True: "Resolved since"}


def refused(request: PageRequest) -> Parts:
    """A table of files that are still refused, and one of resolved refusals; the newest first."""
    need_all_pools(request.bearer, "this view")
    found = request.store.query("ingest_errors")
    kinds = {
        title: found.filter(pc.field("is_resolved") == is_resolved)
        for is_resolved, title in _TITLES.items()
    }
    is_cut = any(rows.num_rows > MOST for rows in kinds.values())
    return {
        "title": "Refused",
        "tables": [_table(title, rows) for title, rows in kinds.items() if rows.num_rows],
        "empty": "No file was refused.",
        "cut": f"Only the last {MOST} files of each kind are shown." if is_cut else "",
    }


def _table(title: str, rows: pa.Table) -> Table:
    columns = ("Refused", "Source", "Reason", "Offset", "Details", "SHA-256")
    last = rows.slice(max(0, rows.num_rows - MOST)).to_pylist()[::-1]
    return Table(title, columns, [_row(row) for row in last], frozenset({3}))


def _row(row: dict[str, Any]) -> list[Cell | str]:
    offset = row["byte_offset"]
    return [
        date_text(row["refused_at"]),
        row["source"],
        row["reason"],
        NONE if offset is None else f"{offset:,}",
        row["detail"],
        (row["sha256"] or NONE)[:12],
    ]
