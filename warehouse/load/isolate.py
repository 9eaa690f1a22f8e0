"""Unforeseen failures of one dump, isolated from all others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import duckdb

from ingest.errors import IngestError
from warehouse.errors import WarehouseError

_Result = TypeVar("_Result")

_MOST_CHARACTERS = 300

# Foreseen errors, and errors of the machine or the whole store: no single dump is to blame.
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
    """A dump failed in a child process, or killed it."""


class Failure(NamedTuple):
    """An unforeseen failure, described for `ingest_errors`."""

    detail: str


def isolate(action: Callable[[], _Result]) -> _Result | Failure:
    """The action's result, or a Failure if it raised an error that a dump may have caused.

    Foreseen errors are raised as they are, and so are interrupts, exits and errors of the disk, the
    lock or the whole store. All others are bugs, or dumps that exhaust the memory.
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
