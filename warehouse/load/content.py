"""Reading, decoding and summarising dumps: the part of an ingest that runs in threads.

Three kinds of errors are told apart here, for every road of a dump into a store:

* errors that only the content of a dump causes (`DUMP_ERRORS`): the dump is refused;
* errors of the machine, the disk, the store or the settings (`SYSTEM_ERRORS`), and foreseen
  ones: they are passed on, so the work stops and no dump is refused;
* all others: bugs. A dump is refused for a bug only if another dump, which is known to be good,
  passes the same step. If it does not, the bug is passed on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.decode import DecodedBatch, decode_dumps, stream_dump
from tracehouse.ingest.dump import NOW, Companion, Dump, HashedFile, Refusal
from tracehouse.ingest.errors import DumpError, IngestError, SourceError
from tracehouse.ingest.file_magic import describe_bytes
from tracehouse.ingest.manifest.fields import describe_differences
from tracehouse.ingest.manifest.models import Build, Device, Manifest, Model
from tracehouse.ingest.profiler_blob import HEADER, decode_profiler_blob
from tracehouse.ingest.schemas.dumps import ERRORS
from tracehouse.ingest.sources.file_names import UNPACKED
from tracehouse.ingest.tables.build import renumber_dumps
from tracehouse.ingest.tracer.writer import ETDumpWriter
from tracehouse.warehouse.archive.entries import Ids
from tracehouse.warehouse.errors import WarehouseError
from tracehouse.warehouse.programs.reader import Program, read_program
from tracehouse.warehouse.statistics.clock_steps import CLOCKS
from tracehouse.warehouse.statistics.rollups import Statistics, group_events, summarise
from tracehouse.warehouse.statistics.run_lengths import find_lengths, split_runs

if TYPE_CHECKING:
    pass

UNDECODABLE = "undecodable"  # for an unforeseen reason

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PARTS = 8
_MOST_CHARACTERS = 300

# DuckDB's lack of memory is not among them: it may be due to one dump with large values.
SYSTEM_ERRORS = (
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
FILE_HINT = re.compile(
    "No space left|disk full|File too large|Could not (read|write)|invalidated", re.IGNORECASE
)
_NO_DUMP = "bad_identifier"  # neither an ETDump nor a profiler blob
_SUFFIXES = tuple(f".prof{packing}" for packing in ("", *UNPACKED))
_NAME_BYTES = 32
_LAST_VERSION = 16  # far above the existing ones
_NAME = "control"


class Content(NamedTuple):
    """Decoded dumps and their statistics; ``dump_index`` is the position in `dumps`."""

    decoded: DecodedBatch
    statistics: Statistics
    dumps: Sequence[NewDump] = ()

    @property
    def good(self) -> NDArray[np.int32]:
        """Positions of the dumps that are not malformed."""
        positions: NDArray[np.int32] = self.decoded.tables["dumps"]["dump_index"].to_numpy()
        return positions


def read_dumps(dumps: Sequence[Dump]) -> list[HashedFile | Refusal]:
    """Read and hash dumps; an unreadable dump is refused."""
    return [_read_dump(dump) for dump in dumps]


def _read_dump(dump: Dump) -> HashedFile | Refusal:
    try:
        return dump.read_hashed()
    except SourceError as error:
        return Refusal(dump.name, None, error.reason, None, error.problem)


def decode_apart(
    dumps: Sequence[NewDump], decode: Callable[[Sequence[NewDump]], Content]
) -> list[Content]:
    """Decode and summarise dumps, all at once if none of them breaks the decoder."""

    def refuse(dump: NewDump, failure: Failure) -> Content:
        detail = failure.blame(dump.source, _decodes_control)
        return _refused(dump, detail, decode(()))

    return isolate_each(dumps, decode, refuse)


def _refused(dump: NewDump, detail: str, nothing: Content) -> Content:
    """The content of a dump that made the decoder fail: empty tables and an error."""
    row = {"dump_index": 0, "reason": UNDECODABLE, "detail": detail}
    errors = pa.Table.from_pylist([row], schema=ERRORS)
    return Content(
        DecodedBatch(nothing.decoded.tables, errors),
        Statistics(nothing.statistics.tables, np.ones((1, CLOCKS))),
        [dump],
    )


def stream_apart(parts: Iterator[DecodedBatch], source: str) -> Iterator[DecodedBatch]:
    """Parts of a big dump, decoded lazily.

    Raises:
        DumpError: The dump is malformed or makes the decoder fail; discard the earlier parts.
    """
    while (part := isolate(lambda: next(parts, None))) is not None:
        if isinstance(part, Failure):
            detail = part.blame(source, _decodes_control)
            raise DumpError(source, reason=UNDECODABLE, byte_offset=None, detail=detail)
        yield part


def decode_content(buffers: Sequence[Any]) -> Content:
    """Decode and summarise dumps."""
    decoded = decode_dumps(buffers)
    groups = group_events(decoded.tables["events"])
    if lengths := find_lengths(groups, decoded.tables["event_signatures"]):
        decoded = split_runs(decoded, lengths)
        groups = group_events(decoded.tables["events"])
    return Content(decoded, summarise(decoded, groups, len(buffers)))


def _decodes_control() -> bool:
    """Whether this process decodes a good dump."""
    return not isinstance(isolate(lambda: decode_content([control_dump().data])), Failure)


def number_dumps(
    tables: Sequence[Mapping[str, pa.Table]], ids: Sequence[NDArray[np.int32]]
) -> dict[str, pa.Table]:
    """Tables of several decoder calls joined by name, with `dump_id` for `dump_index`.

    Args:
        tables: Tables of each call.
        ids: Ids of the dumps of each call, by ``dump_index``.
    """
    return {name: _number([some[name] for some in tables], ids) for name in tables[0]}


def _number(tables: Sequence[pa.Table], ids: Sequence[NDArray[np.int32]]) -> pa.Table:
    rows = pa.concat_tables(map(renumber_dumps, tables, ids))
    names = ["dump_id" if name == "dump_index" else name for name in rows.column_names]
    return rows.rename_columns(names)


class ChildError(Exception):
    """A file of a dump failed in a child process, or crashed it."""


# A value that a column cannot hold, or a failure in a process that did nothing but decode it.
DUMP_ERRORS = (ChildError, duckdb.DataError, pa.ArrowInvalid, pa.ArrowCapacityError)


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
    except DUMP_ERRORS as error:
        return Failure(str(error) if isinstance(error, ChildError) else describe_failure(error))
    except SYSTEM_ERRORS:
        raise
    except Exception as error:  # a bug, which `Failure.blame` raises unless a dump causes it
        if isinstance(error, duckdb.Error) and FILE_HINT.search(str(error)):
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


class Decoder(Protocol):
    """Decodes dumps; `isolate` handles the errors that a dump causes."""

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        """Decode and summarise dumps."""

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        """Parts of a big dump; a malformed dump raises DumpError."""

    def read_program(
        self, file: Companion, method: str | None, known: Mapping[int, Program]
    ) -> Program:
        """The ETRecord in a file; see `warehouse.programs.reader.read_program`."""

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Check that this process will survive reading the dumps' debug buffers."""


class _OwnDecoder:
    """Decodes in this process, which the user's own files may crash."""

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        return decode_content([dump.data for dump in dumps])._replace(dumps=dumps)

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        return stream_dump(dump.data, dump.source)

    def read_program(
        self, file: Companion, method: str | None, known: Mapping[int, Program]
    ) -> Program:
        return read_program(file, method, known)

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Check nothing: the debug buffers are read next."""


OWN_DECODER = _OwnDecoder()


class NewDump(NamedTuple):
    """A dump to store.

    Attributes:
        source: Name of the dump at its origin.
        sha256: SHA-256 of its bytes.
        manifest: Its manifest.
        program: Its ETRecord, if any.
        debug_buffer: Its debug buffer, if any.
        data: Its bytes; None if they are decoded already and archived.
        ids: Its ids in the archive; None for a new dump.
        taken_at: Its time of ingest in the archive; NOW for a new dump.
        known_manifest: The manifest under which the store, or an earlier file, has these bytes.
    """

    source: str
    sha256: str
    manifest: Manifest
    program: Program | None = None
    debug_buffer: HashedFile | None = None
    data: Any = None
    ids: Ids | None = None
    taken_at: datetime = NOW
    known_manifest: str | None = None

    def companions(self) -> dict[str, HashedFile]:
        """The ETRecord and the debug buffer that the dump has, by attribute."""
        files = {}
        if self.program:
            _, source, sha256, _, data, _ = self.program
            files["program"] = HashedFile(source, data, sha256)
        if self.debug_buffer:
            files["debug_buffer"] = self.debug_buffer
        return files
