"""Failures of one dump, isolated from all others.

Three kinds of errors are told apart here, for every road of a dump into a store:

* errors that only the content of a dump causes (`ERRORS_OF_A_DUMP`): the dump is refused;
* errors of the machine, the disk, the store or the settings (`ERRORS_OF_THE_WORK`), and foreseen
  ones: they are passed on, so the work stops and no dump is refused;
* all others: bugs. A dump is refused for a bug only if another dump, which is known to be good,
  passes the same step (`warehouse.load.isolate`). If it does not, the bug is passed on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.errors import DumpError, IngestError
from tracehouse.ingest.file_magic import describe_bytes
from tracehouse.ingest.manifest.fields import describe_differences
from tracehouse.ingest.manifest.models import Build, Device, Manifest, Model
from tracehouse.ingest.profiler_blob import HEADER, decode_profiler_blob
from tracehouse.ingest.sources.file_names import UNPACKED
from tracehouse.ingest.tracer.writer import ETDumpWriter
from tracehouse.warehouse.errors import WarehouseError
from tracehouse.warehouse.load.new_dump import NewDump

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PARTS = 8
_MOST_CHARACTERS = 300

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
_NO_DUMP = "bad_identifier"  # neither an ETDump nor a profiler blob
_SUFFIXES = tuple(f".prof{packing}" for packing in ("", *UNPACKED))
_NAME_BYTES = 32
_LAST_VERSION = 16  # far above the existing ones
_NAME = "control"


class ChildError(Exception):
    """A file of a dump failed in a child process, or crashed it."""


# A value that a column cannot hold, or a failure in a process that did nothing but decode it.
ERRORS_OF_A_DUMP = (ChildError, duckdb.DataError, pa.ArrowInvalid, pa.ArrowCapacityError)


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


def explain_refusal(refusal: Refusal, data: Any) -> Refusal:
    """The decoder's refusal; for data that resembles a profiler blob, the fault of the blob."""
    is_named = refusal.source.lower().endswith(_SUFFIXES)
    is_short = is_named and len(data) < HEADER.itemsize
    is_unknown = refusal.reason == _NO_DUMP and describe_bytes(data) is None
    is_meant = is_unknown and (is_named or _starts_like_blob(data))
    if is_short or is_meant:
        try:
            decode_profiler_blob(data, refusal.source)
        except DumpError as error:
            detail = f"as a profiler blob: {error.detail}"
            reason, offset = error.reason, error.byte_offset
            return refusal._replace(reason=reason, byte_offset=offset, detail=detail)
    return refusal


def describe_conflict(sha256: str, new_manifest: str, known_manifest: str) -> str:
    """The conflict of a dump's new manifest with its known one, and how to resolve it."""
    differences = describe_differences(new_manifest, known_manifest)
    return (
        f"these bytes are known under another manifest ({differences}): correct this manifest, or "
        f"the known one with 'tracehouse store amend --dump {sha256[:12]} --set FIELD=VALUE', or "
        "accept the known one"
    )


def _starts_like_blob(data: Any) -> bool:
    """Whether bytes start with a block's name and a plausible version, whatever follows."""
    head = bytes(memoryview(data).cast("B")[: _NAME_BYTES + 4])
    name, end, _ = head[:_NAME_BYTES].partition(b"\0")
    version = int.from_bytes(head[_NAME_BYTES:], "little")
    is_name = bool(name and end) and name.isascii() and name.decode("ascii").isprintable()
    return is_name and 0 < version <= _LAST_VERSION


@cache
def control_dump() -> NewDump:
    """The dump, under a SHA-256 that no bytes have in a store."""
    tracer = ETDumpWriter(clock=count(1).__next__)
    with tracer.block(_NAME), tracer.profile(_NAME, instruction=0):
        pass
    data, _ = tracer.finish()
    stated = Manifest(device=Device(name=_NAME), build=Build(id=_NAME), model=Model(name=_NAME))
    return NewDump(_NAME, hashlib.sha256(_NAME.encode()).hexdigest(), stated, data=data)
