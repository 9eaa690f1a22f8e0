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


@contextmanager
def options_at_fault() -> Iterator[None]:
    """What is refused inside is an option's value, whatever the files and the store hold.

    Raises:
        UsageError: It is refused.
    """
    try:
        yield
    except (ManifestError, QueryError) as error:
        raise UsageError(str(error)) from error
