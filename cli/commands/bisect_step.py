"""`tracehouse bisect-step`: whether a build has a change, for `git bisect run`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from tracehouse.cli.errors import ExitCode
from tracehouse.cli.options import DEFAULT_STORE, Config, Head, StorePath, Wait
from tracehouse.cli.output.streams import write_error, write_note
from tracehouse.cli.stores import open_to_read
from tracehouse.warehouse.errors import QueryError, WarehouseError

if TYPE_CHECKING:
    from typer._click import Context

_CODES = {"good": ExitCode.OK, "bad": ExitCode.FAILED, "skip": ExitCode.BISECT_SKIP}

_Group = Annotated[
    str, typer.Argument(metavar="GROUP", help="Id of the group, as reports show it.")
]
_Build = Annotated[
    str | None,
    typer.Option("--build", metavar="BUILD", help="Build to judge; by default that of git's HEAD."),
]


class BisectCommand(TyperCommand):
    """Fails with a status that stops `git bisect`: a lower one would mean "bad"."""

    def make_context(self, *args: Any, **options: Any) -> Context:
        """Parse the command line."""
        with _stopping():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Context) -> Any:
        """Run the command."""
        with _stopping():
            return super().invoke(ctx)


Command = BisectCommand


@contextmanager
def _stopping() -> Iterator[None]:
    try:
        yield
    except TyperException as error:
        error.exit_code = ExitCode.BISECT_STOP
        raise
    except (WarehouseError, QueryError) as error:
        write_error(error)
        raise typer.Exit(ExitCode.BISECT_STOP) from error


def bisect_step(
    group: _Group,
    build: _Build = None,
    head: Head = None,
    config: Config = None,
    store: StorePath = DEFAULT_STORE,
    wait: Wait = 0.0,
) -> None:
    """Tell 'git bisect run' whether a build has the change of a group, judging by its dumps.

    Exits 0 if the build does not have the change (good), 1 if it does (bad), 125 if there are too
    few dumps to tell (git skips the commit), and 128 on errors, which stop git. Prints the reason
    on standard error.

    Raises:
        Exit: With one of these statuses.
    """
    from tracehouse.queries.report.bisect import find_commit, judge_step
    from tracehouse.queries.report.settings import read_settings

    settings = read_settings(config)
    with open_to_read(store, wait=wait) as warehouse:
        if build is None:
            commit = _read_commit()
            build = find_commit(warehouse, commit)
            if build is None:
                write_note(f"skip: no build in the store was made from commit {commit}")
                raise typer.Exit(ExitCode.BISECT_SKIP)
        step = judge_step(warehouse, group, build=build, head=head, settings=settings)
    write_note(f"{step.answer}: {step.reason}")
    raise typer.Exit(_CODES[step.answer])


def _read_commit() -> str:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - git runs this command
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise typer.BadParameter(
            "no commit is checked out here; name one with --build BUILD"
        ) from error
    return done.stdout.strip()
