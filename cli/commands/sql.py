"""`tracehouse sql`: ad-hoc SQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
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
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Text for $NAME in the statement, which may CAST it; may be repeated.",
        ),
    ] = None,
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
    params = _parse_params(param or [])
    from warehouse import Warehouse

    with Warehouse.open(store, read_only=True, wait=wait) as warehouse:
        table = warehouse.sql(_read(statement), params, allow_files=allow_files)
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


def _parse_params(texts: Sequence[str]) -> dict[str, str]:
    params: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign):
            raise typer.BadParameter(f"--param '{text}', wanted NAME=VALUE")
        if name in params:
            raise typer.BadParameter(f"--param '{name}' is given twice")
        params[name] = value
    return params
