"""`tracehouse schema`: what ad-hoc SQL can ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import DEFAULT_STORE, Output, Store
from cli.render import Format, write_table
from warehouse.errors import QueryError, suggest

if TYPE_CHECKING:
    import pyarrow as pa


def schema(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only this table or view.")
    ] = None,
    store: Store = DEFAULT_STORE,
    output: Output = Format.TABLE,
) -> None:
    """List tables, views and columns with their meanings."""
    from warehouse import Warehouse

    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.schema()
    write_table(rows if table is None else _only(rows, table), output)


def _only(rows: pa.Table, table: str) -> pa.Table:
    import pyarrow.compute as pc

    chosen = rows.filter(pc.equal(rows["table_name"], table))
    if not chosen.num_rows:
        known = rows["table_name"].unique().to_pylist()
        raise QueryError(f"no table or view '{table}'{suggest(table, known)}")
    return chosen
