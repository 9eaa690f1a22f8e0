"""What can go wrong with a command line and with an answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ingest.errors import ManifestError
from warehouse.errors import QueryError


class UsageError(Exception):
    """The command line asks for what can never be, whatever the store holds."""


class OutputError(Exception):
    """Nothing can be written where the answer should go, such as a full disk."""


class IncompleteError(OutputError):
    """Part of the answer was written.

    Attributes:
        place: Where to.
        problem: What stopped it.
    """

    def __init__(self, place: str, problem: str) -> None:
        """Say that the reader has a part."""
        super().__init__(f"{place}: {problem}; the output is incomplete")
        self.place, self.problem = place, problem


@contextmanager
def as_usage_errors() -> Iterator[None]:
    """What is refused inside is an option's value, whatever the files and the store hold.

    Raises:
        UsageError: It is refused.
    """
    try:
        yield
    except (ManifestError, QueryError) as error:
        raise UsageError(str(error)) from error
