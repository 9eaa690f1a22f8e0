"""Errors of the drop-in, which are both this project's errors and those of the Inspector.

A graph that an ETRecord lacks is an UnknownGraphError of `warehouse.programs.correlation`, also a
KeyError.
"""

from __future__ import annotations

import errno

from tracehouse.ingest.errors import EtRecordError, SourceError
from tracehouse.warehouse.errors import QueryError


class WrongValueError(QueryError, ValueError):
    """A value that cannot be used, where the Inspector raises ValueError."""


class WrongTypeError(QueryError, TypeError):
    """A value of the wrong type, where the Inspector raises TypeError."""


class UnconvertibleError(QueryError, RuntimeError):
    """Time scales that cannot be converted into each other."""


class ProgramRunError(QueryError, RuntimeError):
    """ExecuTorch cannot run an exported program."""


class UnreadableFileError(SourceError, OSError):
    """A file that cannot be read."""

    def __init__(self, source: str, problem: str, *, reason: str = "unreadable") -> None:
        super().__init__(source, problem, reason=reason)
        self.filename = source
        self.errno = self.strerror = None

    __str__ = Exception.__str__  # OSError would number its arguments


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file that does not exist."""

    def __init__(self, source: str, problem: str, *, reason: str = "unreadable") -> None:
        super().__init__(source, problem, reason=reason)
        self.errno = errno.ENOENT


class InvalidRecordError(EtRecordError, RuntimeError):
    """A file that is not a readable ETRecord."""
