"""Exit statuses, as scripts see them."""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn

import typer


class ExitCode(IntEnum):
    """Exit statuses of `tracehouse`; stable once released."""

    OK = 0
    FAILED = 1
    USAGE = 2
    REGRESSIONS = 3
    OTHER_ENVIRONMENT = 4
    INCOMPLETE = 5
    BISECT_SKIP = 125
    BISECT_STOP = 128


# Exit status of --fail-on-regression by the report's verdict; OK for all others.
STATUS_OF_VERDICT = {
    "regressions": ExitCode.REGRESSIONS,
    "over_budget": ExitCode.REGRESSIONS,
    "other_environment": ExitCode.OTHER_ENVIRONMENT,
    "incomplete": ExitCode.INCOMPLETE,
}


def fail(status: ExitCode = ExitCode.FAILED) -> NoReturn:
    """Exit after the reason was printed.

    Raises:
        Exit: With this status.
    """
    raise typer.Exit(status)
