"""The command `tracehouse`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.main import get_command

from cli import etrecord, query
from cli.exit_codes import ExitCode
from cli.ingest import ingest
from cli.inspect import inspect
from cli.inspect_prof import inspect_prof
from cli.migrate import migrate
from cli.numeric_gap import numeric_gap
from cli.record import record
from cli.render import OutputError
from cli.schema import schema
from cli.simulate import simulate
from cli.sql import sql
from cli.text import printable
from ingest.errors import IngestError
from warehouse.errors import QueryError, WarehouseError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command()(ingest)
app.add_typer(query.app, name="query")
app.command()(sql)
app.command()(migrate)
app.command()(schema)
app.command()(inspect)
app.add_typer(etrecord.app, name="etrecord")
app.command()(numeric_gap)
app.command()(inspect_prof)
app.command()(record)
app.command()(simulate)


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line, by default the process's own; the exit status if it fails.

    A command line that succeeds or is malformed ends in SystemExit instead. Ctrl-C ends the
    process at once: a store can be left at any moment.
    """
    if args is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a busy DuckDB may never hear Python's
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON and CSV are, whatever the locale
    try:
        get_command(app).main(args, prog_name="tracehouse")
    except (IngestError, WarehouseError, QueryError, OutputError) as error:
        sys.stderr.write(f"error: {printable(' '.join(str(error).split()))}\n")
    return ExitCode.FAILED


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"tracehouse {version('tracehouse')}")
        raise typer.Exit


@app.callback()
def _describe(
    _: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Turn ExecuTorch's ETDump traces into answers: what got slower, and where the time goes."""
