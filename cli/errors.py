"""Errors of commands, and the exit statuses that they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Annotated, NoReturn

import typer

from tracehouse.ingest.errors import ManifestError
from tracehouse.queries.report.verdicts import Verdict
from tracehouse.warehouse.errors import QueryError

# Exit status of --fail-on-regression by the report's verdict; OK for all others.
STATUS_OF_VERDICT: dict[str, int] = {
    verdict: verdict.exit_status for verdict in Verdict if verdict.exit_status
}


class UsageError(Exception):
    """The command line is wrong, whatever the store contains."""


class OutputError(Exception):
    """The output cannot be written, for example because the disk is full."""


class IncompleteError(OutputError):
    """Only part of the output was written."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}; the output is incomplete")
        self.place, self.problem = place, problem


@contextmanager
def as_usage_errors() -> Iterator[None]:
    """Turn errors about the values of options into usage errors.

    Raises:
        UsageError: The body raised a ManifestError or QueryError.
    """
    try:
        yield
    except (ManifestError, QueryError) as error:
        raise UsageError(str(error)) from error


class ExitCode(IntEnum):
    """Exit statuses of `tracehouse` besides those of verdicts; stable once released."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNLOADABLE = 6  # dumps of the archive cannot be loaded into the store
    BISECT_SKIP = 125
    BISECT_STOP = 128


def _fail_help() -> str:
    """The statuses and what they mean, in words."""
    by_status: dict[int, list[str]] = {}
    for verdict in Verdict:
        by_status.setdefault(verdict.exit_status, []).append(verdict.when)
    by_status.pop(0)
    return ", ".join(f"{status} if {' or '.join(when)}" for status, when in by_status.items())


FailOnRegression = Annotated[
    bool, typer.Option("--fail-on-regression", help=f"Exit {_fail_help()}.")
]


def fail(status: int = ExitCode.FAILED) -> NoReturn:
    """Exit after the reason was printed.

    Raises:
        Exit: With this status.
    """
    raise typer.Exit(status)
