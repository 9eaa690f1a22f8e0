"""The command `tracehouse`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from cli.commands import etrecord, query
from cli.commands.ingest import ingest
from cli.commands.inspect import inspect
from cli.commands.inspect_prof import inspect_prof
from cli.commands.migrate import migrate
from cli.commands.numeric_gap import numeric_gap
from cli.commands.record import record
from cli.commands.schema import schema
from cli.commands.simulate import simulate
from cli.commands.sql import sql
from cli.errors import OutputError
from cli.exit_codes import ExitCode
from cli.output.streams import prepare_streams, write_lines, write_note
from ingest.errors import IngestError
from queries.printable import printable
from warehouse.errors import QueryError, WarehouseError

if TYPE_CHECKING:
    from typer._click.exceptions import ClickException

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
    prepare_streams()
    try:
        _run(args)
    except (IngestError, WarehouseError, QueryError, OutputError) as error:
        write_note(f"error: {' '.join(str(error).split())}")
    return ExitCode.FAILED


def _run(args: Sequence[str] | None) -> NoReturn:
    try:
        code = get_command(app).main(args, prog_name="tracehouse", standalone_mode=False)
    except TyperException as error:  # the command line is malformed
        error.message = "\n".join(map(printable, error.message.split("\n")))
        cast("ClickException", error).show()
        code = error.exit_code
    except OSError:  # of a help text, which Typer prints, or a bug: the one fails once more
        write_lines([""])
        raise
    sys.exit(code or 0)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        write_lines([f"tracehouse {version('tracehouse')}"])
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
