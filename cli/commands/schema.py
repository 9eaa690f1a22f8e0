"""`tracehouse schema`: the tables and views that SQL can query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.options import StoreOptions
from tracehouse.cli.stores import open_to_query
from tracehouse.warehouse.errors import QueryError, suggest

if TYPE_CHECKING:
    import pyarrow as pa


def schema(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Only this table or view.")
    ] = None,
    *,
    options: StoreOptions,
) -> None:
    """List tables, views and columns with their meanings."""
    with open_to_query(options.store, wait=options.wait) as warehouse:
        rows = warehouse.schema()
    chosen = rows if table is None else _only(rows, table)
    options.write(chosen)


def _only(rows: pa.Table, table: str) -> pa.Table:
    import pyarrow.compute as pc

    known = rows["table_name"].unique().to_pylist()
    if table not in known:
        raise QueryError(f"no table or view '{table}'{suggest(table, known)}")
    return rows.filter(pc.equal(rows["table_name"], table))
