"""Unforeseen failures of one dump, isolated from all others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import duckdb

from ingest.errors import IngestError
from warehouse.errors import WarehouseError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PARTS = 8
_MOST_CHARACTERS = 300

# Foreseen errors, and errors of the machine or the whole store, which no single dump causes.
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
    """A dump failed in a child process, or crashed it."""


class Failure(NamedTuple):
    """An unforeseen failure, described for `ingest_errors`."""

    detail: str


def isolate(action: Callable[[], _Result]) -> _Result | Failure:
    """The action's result, or a Failure for an error that a dump may have caused.

    Foreseen errors, interrupts, exits and errors of the disk, the lock or the whole store are
    passed on. All others are due to bugs, or to dumps that exhaust the memory.
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


def isolate_each(
    items: Sequence[_Item],
    action: Callable[[Sequence[_Item]], _Result],
    refuse: Callable[[_Item, Failure], _Result],
) -> list[_Result]:
    """Results of an action on all items, or, after a failure, on ever smaller parts.

    Items are split into more than two parts because each failure may take the whole time limit.

    Args:
        items: Arguments of the action.
        action: Called with items.
        refuse: Called with a single item and its failure; returns a result for the item.
    """
    result = isolate(lambda: action(items))
    if not isinstance(result, Failure):
        return [result]
    if len(items) == 1:
        return [refuse(items[0], result)]
    size = -(-len(items) // _PARTS)
    parts = [items[first : first + size] for first in range(0, len(items), size)]
    return [one for part in parts for one in isolate_each(part, action, refuse)]


def _describe(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")[:_MOST_CHARACTERS]
    name = type(error).__name__
    text = (f"{name}: {first}" if first else name).encode("utf-8", "backslashreplace").decode()
    return f"{text}; this is a bug, or the dump asks for too much memory: please report it"
