"""What an exit status means to the script that called us."""

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
    BISECT_SKIP = 125
    BISECT_STOP = 128


def fail(status: ExitCode = ExitCode.FAILED) -> NoReturn:
    """End a command that has said why.

    Raises:
        Exit: With that status.
    """
    raise typer.Exit(status)
