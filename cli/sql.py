"""`tracehouse sql`: ad-hoc SQL."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cli.options import DEFAULT_STORE, CsvSafe, Output, Store
from cli.render import Format, write_table
from warehouse.errors import StatementError


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SELECT", help="One SELECT statement; - reads it from stdin.")
    ],
    store: Store = DEFAULT_STORE,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Answer one SELECT over the tables that 'schema' lists."""
    from warehouse import Warehouse

    with Warehouse.open(store, read_only=True) as warehouse:
        table = warehouse.sql(_read(statement))
    write_table(table, output, is_csv_safe=is_csv_safe)


def _read(statement: str) -> str:
    """The statement, out of standard input if it is -.

    Raises:
        StatementError: It is not UTF-8.
    """
    try:
        return (sys.stdin.buffer.read() if statement == "-" else os.fsencode(statement)).decode()
    except UnicodeDecodeError as error:
        raise StatementError(f"the statement is not UTF-8 at byte {error.start:,}") from error
