"""`tracehouse sql`: ad-hoc SQL."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from tracehouse.cli.errors import UsageError
from tracehouse.cli.options import LakeUri, StoreOptions
from tracehouse.cli.output.render import Format
from tracehouse.cli.output.streams import write_lines
from tracehouse.cli.stores import open_to_query
from tracehouse.warehouse.errors import StatementError

if TYPE_CHECKING:
    from typer._click import Context

_WANTED = (
    "wanted a SELECT, or - to read one from standard input, such as: tracehouse sql "
    '"SELECT device, build, count(*) AS dumps FROM named_dumps GROUP BY ALL"; '
    "'tracehouse schema' lists the tables, docs/sql-recipes.md has more examples"
)
_PLAN = ["explain_key", "explain_value"]  # columns of EXPLAIN, whose value is a drawing
_COMMENT = re.compile(r"--[\w-]*\s")  # no option has white space in its name


class Command(TyperCommand):
    """A command whose argument may start with a SQL comment, which looks like an option."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the command line with arguments that start with comments moved behind `--`."""
        comments = [arg for arg in args if _COMMENT.match(arg)]
        options = [arg for arg in args if not _COMMENT.match(arg)]
        return super().parse_args(ctx, [*options, "--", *comments] if comments else args)


def sql(
    statement: Annotated[
        str | None,
        typer.Argument(
            metavar="SELECT", help="One SELECT statement, or - to read it from standard input."
        ),
    ] = None,
    *,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Text to bind to $NAME in the statement, which may CAST it; may be repeated.",
        ),
    ] = None,
    allow_files: Annotated[
        bool,
        typer.Option(
            "--allow-files",
            help="Let the statement read local files, such as a CSV to join: FROM 'goals.csv'. "
            "Statements never write files.",
        ),
    ] = False,
    lake: LakeUri = None,
    options: StoreOptions,
) -> None:
    """Run one SELECT or EXPLAIN over the tables that 'tracehouse schema' lists.

    Statements cannot change anything, and read local files only with --allow-files.

    Raises:
        UsageError: There is no statement.
    """
    if statement is None:
        raise UsageError(_WANTED)
    params = _parse_params(param or [])
    with open_to_query(options.store, wait=options.wait, lake=lake) as warehouse:
        table = warehouse.sql(_read(statement), params, allow_files=allow_files)
    if options.format is Format.TABLE and table.column_names == _PLAN:
        write_lines(line for plan in table[_PLAN[1]].to_pylist() for line in plan.splitlines())
    else:
        options.write(table, has_all=True)


def _read(statement: str) -> str:
    """The statement, from standard input if it is -.

    Raises:
        StatementError: The statement is not UTF-8.
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
