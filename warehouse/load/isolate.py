"""Failures of one dump, isolated from all others.

Three kinds of errors are told apart here, for every road of a dump into a store:

* errors that only the content of a dump causes (`ERRORS_OF_A_DUMP`): the dump is refused;
* errors of the machine, the disk, the store or the settings (`ERRORS_OF_THE_WORK`), and foreseen
  ones: they are passed on, so the work stops and no dump is refused;
* all others: bugs. A dump is refused for a bug only if another dump, which is known to be good,
  passes the same step (`warehouse.load.control`). If it does not, the bug is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import duckdb
import pyarrow as pa

from tracehouse.ingest.errors import IngestError
from tracehouse.warehouse.errors import WarehouseError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PARTS = 8
_MOST_CHARACTERS = 300


class ChildError(Exception):
    """A file of a dump failed in a child process, or crashed it."""


# A value that a column cannot hold, or a failure in a process that did nothing but decode it.
ERRORS_OF_A_DUMP = (ChildError, duckdb.DataError, pa.ArrowInvalid, pa.ArrowCapacityError)
# DuckDB's lack of memory is not among them: it may be due to one dump with large values.
ERRORS_OF_THE_WORK = (
    IngestError,
    WarehouseError,
    OSError,
    MemoryError,
    RecursionError,
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


@dataclass(frozen=True)
class Failure:
    """The failure of an action.

    Attributes:
        bug: The error, if it may be due to something else than the dump; otherwise None.
    """

    detail: str
    bug: Exception | None = None

    def blame(self, name: str, does_control_pass: Callable[[], bool] = lambda: False) -> str:
        """The detail, to refuse the file of this name; raises a bug unless the control passes."""
        if self.bug is not None and not does_control_pass():
            self.bug.add_note(f"This happened with {name}, and no dump was refused for it.")
            raise self.bug
        return self.detail


def isolate(action: Callable[[], _Result]) -> _Result | Failure:
    """The action's result, or the Failure for an error of a dump or a bug.

    Foreseen errors, interrupts, exits and errors of the work are passed on.
    """
    try:
        return action()
    except ERRORS_OF_A_DUMP as error:
        return Failure(str(error) if isinstance(error, ChildError) else describe_failure(error))
    except ERRORS_OF_THE_WORK:
        raise
    except Exception as error:  # a bug, which `Failure.blame` raises unless a dump causes it
        if isinstance(error, duckdb.Error) and _OF_THE_FILE.search(str(error)):
            raise
        return Failure(describe_failure(error), error)


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


def describe_failure(error: Exception) -> str:
    """An unforeseen error in one line, for `ingest_errors`."""
    first = next(iter(str(error).splitlines()), "")[:_MOST_CHARACTERS]
    name = type(error).__name__
    text = (f"{name}: {first}" if first else name).encode("utf-8", "backslashreplace").decode()
    return f"{text}; this is a bug, or the dump asks for too much memory: please report it"
