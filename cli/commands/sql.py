"""`tracehouse sql`: ad-hoc SQL."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cli.options import DEFAULT_STORE, CsvSafe, Output, Store, Wait
from cli.output.render import Format, write_table
from warehouse.errors import StatementError


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SELECT", help="One SELECT statement; - reads it from stdin.")
    ],
    *,
    allow_files: Annotated[
        bool,
        typer.Option(
            "--allow-files",
            help="Let the statement read files, such as a CSV to join: FROM 'goals.csv'. "
            "Nothing is ever written.",
        ),
    ] = False,
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Answer one SELECT over the tables that 'schema' lists.

    It can change nothing, and reads no file of this machine unless you allow it.
    """
    from warehouse import Warehouse

    with Warehouse.open(store, read_only=True, wait=wait) as warehouse:
        table = warehouse.sql(_read(statement), allow_files=allow_files)
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
