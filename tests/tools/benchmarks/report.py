"""Prints a record beside the one before it, and keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.tools.benchmarks.record import Record

WIDTH = 110


def publish(
    record: Record,
    before: Record | None,
    path: Path,
    *,
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
) -> None:
    """Print the rows and what both records were measured on; write the record to `path`."""
    table = Table(*columns)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row)
    console = Console(width=WIDTH, highlight=False)
    console.print(table)
    console.print(f"now:    {record.describe()}")
    console.print(f"record: {before.describe() if before else 'none yet'}")
    record.write(path)
