"""`tracehouse sql`: ad-hoc SQL."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.options import DEFAULT_STORE, Output, Store
from cli.render import Format, write_table


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SELECT", help="One SELECT statement; - reads it from stdin.")
    ],
    store: Store = DEFAULT_STORE,
    output: Output = Format.TABLE,
) -> None:
    """Answer one SELECT over the tables that 'schema' lists."""
    from warehouse import Warehouse

    with Warehouse.open(store, read_only=True) as warehouse:
        table = warehouse.sql(sys.stdin.read() if statement == "-" else statement)
    write_table(table, output)
