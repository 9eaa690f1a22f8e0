"""Errors of command lines and of their output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracehouse.ingest.errors import ManifestError
from tracehouse.warehouse.errors import QueryError


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
