"""`tracehouse sql`: ad-hoc SQL."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from cli.options import DEFAULT_STORE, Output, Store
from cli.render import Format, write_table


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SELECT", help="One SELECT statement; - reads it from stdin.")
    ],
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Text for $NAME in the statement, which may CAST it; may be repeated.",
        ),
    ] = None,
    store: Store = DEFAULT_STORE,
    output: Output = Format.TABLE,
) -> None:
    """Answer one SELECT over the tables that 'schema' lists."""
    params = _parse_params(param or [])
    from warehouse import Warehouse

    with Warehouse.open(store, read_only=True) as warehouse:
        table = warehouse.sql(sys.stdin.read() if statement == "-" else statement, params)
    write_table(table, output)


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
