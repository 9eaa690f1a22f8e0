"""The view of refused files; resolved refusals have their own table."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from tracehouse.cli.serve.access.pools import need_all_pools
from tracehouse.cli.serve.page.cells import Cell, Row, date_text
from tracehouse.cli.serve.page.listing import Column, listing, sort_page
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.figures import NONE

FIELDS = ("sort", "page", "resolved_sort", "resolved_page")
_TITLES = {"": "Still refused", "resolved_": "Resolved since"}


def refused(request: PageRequest) -> dict[str, Any]:
    """A table of files that are still refused, and one of resolved refusals; the newest first."""
    need_all_pools(request.bearer, "this view")
    found = request.store.query("ingest_errors")
    tables = []
    for part, title in _TITLES.items():
        rows = found.filter(pc.field("is_resolved") == bool(part))
        if rows.num_rows:
            shown = sort_page(request, rows, _COLUMNS, sort="-refused_at", part=part)
            tables.append(listing(request, title, _COLUMNS, shown, part=part))
    return {"title": "Refused", "tables": tables, "empty": "No file was refused."}


def _offset(row: Row) -> str:
    return NONE if row["byte_offset"] is None else f"{row['byte_offset']:,}"


_COLUMNS = (
    Column("Source", lambda row: row["source"], "source"),
    Column("Device", lambda row: row["device"] or NONE, "device"),
    Column("Reason", lambda row: row["reason"], "reason"),
    Column("Details", lambda row: row["detail"]),
    Column("Refused", lambda row: date_text(row["refused_at"]), "refused_at"),
    Column("Offset", _offset, is_number=True),
    Column("SHA-256", lambda row: Cell((row["sha256"] or NONE)[:12])),
)
