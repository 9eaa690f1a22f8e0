"""The command line: commands that are imported on first use, and the handling of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command, get_group

from tracehouse.cli.completions import complete_names
from tracehouse.cli.errors import ExitCode, OutputError, UsageError
from tracehouse.cli.help import arrange_help, lone_command, write_groups
from tracehouse.cli.listing import EXAMPLES, GROUPS, NAMES
from tracehouse.cli.output.streams import prepare_streams, write_error, write_lines
from tracehouse.cli.remote import TokenFile, Url, choose_service
from tracehouse.ingest.errors import IngestError, pydantic_problem
from tracehouse.queries.printable import printable
from tracehouse.warehouse.errors import (
    LakeAddressError,
    QueryError,
    UnknownQueryError,
    UnloadableDumpsError,
    WarehouseError,
)

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter
    from typer._click.exceptions import ClickException

# Commands that work with a service, and commands that need no store.
_WITH_A_SERVICE = {
    *("ingest", "upload", "watch"),
    *("query", "compare", "report", "explain", "plan", "sql", "status", "schema", "mcp", "ls"),
    *("accept", "store"),  # of the store's upkeep, `cli/commands/store.py` knows which
}
_WITHOUT_A_STORE = {
    *("demo", "inspect", "etrecord", "numeric-gap", "export"),
    *("sample", "doctor", "completion", "lake", "spark"),
}


class _Root(TyperGroup):
    """The group of all commands, imported on first use: start-up does not pay for all of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        arrange_help(self)
        names = dict.fromkeys(NAMES)  # to suggest for a mistyped name
        self.commands = cast("dict[str, Command]", names)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The command of a name; None if it is unknown."""
        return _make_command(cmd_name) if cmd_name in NAMES else None

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the commands in groups by purpose."""
        write_groups(
            formatter,
            (
                (title, [(name, _make_command(name).short_help or "") for name in names])
                for title, names in GROUPS.items()
            ),
        )


app = typer.Typer(
    cls=_Root,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def run(args: Sequence[str] | None) -> int:
    """Run a command line, by default the process's own, and return the exit status of a failure.

    A command line that succeeds or is malformed raises SystemExit instead.
    """
    prepare_streams()
    try:
        _run(args)
    except (UsageError, UnknownQueryError, LakeAddressError) as error:
        write_error(error)
        return ExitCode.USAGE
    except UnloadableDumpsError as error:
        write_error(error)
        return ExitCode.UNLOADABLE
    except MemoryError:
        write_error(OutputError("not enough memory: free some, or give the command less at a time"))
    except (IngestError, WarehouseError, QueryError, OutputError) as error:
        write_error(error)
    return ExitCode.FAILED


def _run(args: Sequence[str] | None) -> NoReturn:
    if "_TRACEHOUSE_COMPLETE" in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    with suppress(ImportError):  # with another version of Typer, commands only start more slowly
        from tracehouse.cli.plain_parameters import use_plain_parameters

        use_plain_parameters()
    try:
        own = _with_service_first(sys.argv[1:] if args is None else args)
        code = get_command(app).main(own, prog_name="tracehouse", standalone_mode=False)
    except TyperException as error:  # the command line is malformed
        error.message = "\n".join(map(printable, pydantic_problem(error.message).split("\n")))
        cast("ClickException", error).show()
        code = error.exit_code
    except OSError:  # Typer failed to print a help text (writing again then says so), or a bug
        write_lines([""])
        raise
    sys.exit(code or 0)


@cache
def _make_command(name: str) -> Command:
    """The command, a function or an app, that the module of that name in `cli.commands` defines."""
    from tracehouse.cli.options import with_options

    attribute = name.replace("-", "_")
    module = import_module(f"tracehouse.cli.commands.{attribute}")
    if hasattr(module, "app"):
        command: Command = get_group(module.app)
        for inner_name, inner in getattr(command, "commands", {}).items():
            complete_names(arrange_help(inner, EXAMPLES.get(f"{name} {inner_name}", ())))
    else:
        single = lone_command()
        function = with_options(getattr(module, attribute))
        single.command(name, cls=getattr(module, "Command", None))(function)
        command = get_command(single)
    command.name = name
    complete_names(command)
    return arrange_help(command, EXAMPLES[name])


def _with_service_first(args: Sequence[str]) -> list[str]:
    """The command line, with --url and --token-file moved in front of the command.

    >>> _with_service_first(["query", "coverage", "--url", "http://farm"])
    ['--url', 'http://farm', 'query', 'coverage']
    """
    command = next((arg for arg in args if arg in _WITH_A_SERVICE), None)
    if command is None or "--" in args:
        return list(args)
    first: list[str] = []
    rest = list(args)
    for number, arg in reversed(list(enumerate(args))):
        name, equals, _ = arg.partition("=")
        end = number + (1 if equals else 2)
        if name in ("--url", "--token-file") and end <= len(args):
            first = rest[number:end] + first
            del rest[number:end]
    return [*first, *rest]


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        write_lines([f"tracehouse {version('tracehouse')}"])
        raise typer.Exit


@app.callback()
def _describe(
    context: typer.Context,
    url: Url = None,
    token_file: TokenFile = None,
    _: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Turn ExecuTorch's ETDump traces into answers: what got slower, and where the time goes.

    Raises:
        UsageError: The command only works with a local store, but a service is chosen.
    """
    command = context.invoked_subcommand
    if url and command not in _WITH_A_SERVICE | _WITHOUT_A_STORE:
        raise UsageError(
            f"'{command}' works with a local store only: leave out --url and $TRACEHOUSE_URL"
        )
    choose_service(url, token_file)
