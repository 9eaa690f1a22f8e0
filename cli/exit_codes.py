"""What an exit status means to the script that called us."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit statuses of `tracehouse`; stable once released."""

    OK = 0
    FAILED = 1
    USAGE = 2
    REGRESSIONS = 3
