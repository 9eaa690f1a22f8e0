"""What goes wrong with one dump and was not foreseen, kept from all others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import duckdb

from ingest.errors import IngestError
from warehouse.errors import WarehouseError

_Result = TypeVar("_Result")

_MOST_CHARACTERS = 300

# Foreseen, or about the machine or the store as a whole: leaving out a dump would not help.
_NOT_OF_A_DUMP = (
    IngestError,
    WarehouseError,
    OSError,
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.InterruptException,
    duckdb.TransactionException,
    duckdb.ConnectionException,
    duckdb.PermissionException,
    duckdb.CatalogException,
)
_OF_THE_FILE = re.compile(
    "No space left|disk full|File too large|Could not (read|write)|invalidated", re.IGNORECASE
)


class ChildError(Exception):
    """What went wrong with a dump in another process, or with that process, in words."""


class Failure(NamedTuple):
    """What went wrong, in words for the record."""

    detail: str


def isolate(action: Callable[[], _Result]) -> _Result | Failure:
    """What the action returns; or Failure, if it failed in a way that a dump may have caused.

    Errors that were foreseen are raised as they are, and so are those about the disk, the lock or
    the store as a whole, interrupts and exits. The rest are bugs, or bombs: memory that ran out.
    """
    try:
        return action()
    except _NOT_OF_A_DUMP:
        raise
    except ChildError as error:
        return Failure(str(error))
    except Exception as error:  # the only place that catches everything: see the docstring
        if isinstance(error, duckdb.Error) and _OF_THE_FILE.search(str(error)):
            raise
        return Failure(_describe(error))


def _describe(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")[:_MOST_CHARACTERS]
    what = f"{type(error).__name__}: {first}" if first else type(error).__name__
    text = what.encode("utf-8", "backslashreplace").decode()
    return f"{text}; this is a bug, or the dump asks for too much memory: please report it"
