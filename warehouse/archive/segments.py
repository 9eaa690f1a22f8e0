"""Segments: entries in immutable Parquet files, each named after its hash, and their writer."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.durable import rename
from tracehouse.ingest.sources.private_bytes import gather
from tracehouse.warehouse.archive.entries import SEGMENT, Entry, Ids
from tracehouse.warehouse.errors import ArchiveError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_DIGEST = 16  # hex digits in a name
_NAME = re.compile(rf"(\d{{12}})-(\d{{12}})\.([0-9a-f]{{{_DIGEST}}})\.parquet")

PART_BYTES = 4 << 20
ROW_GROUP_BYTES = 16 << 20  # uncompressed data of a row group
UNFINISHED = ".new"
_LEVEL = 1  # zstd's level: higher ones save little and slow ingests down
_PAGE_BYTES = 2 << 20  # uncompressed
_REPEATED = ("kind", "manifest", "etrecord_sha256", "debug_buffer_sha256", "reason")
_NO_IDS = (None,) * len(Ids._fields)


class Segment(NamedTuple):
    """A sealed segment.

    Attributes:
        path: Its file.
        first: Its number, or the first number of merged segments.
        last: Its number, or the last number of merged segments.
        digest: First digits of the SHA-256 of the file.
    """

    path: Path
    first: int
    last: int
    digest: str

    @classmethod
    def at(cls, path: Path) -> Segment | None:
        """The segment with this path; None if the name is not that of a segment."""
        found = _NAME.fullmatch(path.name)
        return found and cls(path, int(found[1]), int(found[2]), found[3])

    @classmethod
    def of_content(cls, folder: Path, first: int, last: int, sha256: str) -> Segment:
        """The segment in a folder whose file has this SHA-256."""
        assert 1 <= first <= last, "numbers of segments begin at 1 and increase"
        assert len(sha256) == 64
        digest = sha256[:_DIGEST]
        return cls(folder / f"{first:012}-{last:012}.{digest}.parquet", first, last, digest)

    def delete(self) -> None:
        """Delete the file, if it is there; an OSError is passed on."""
        self.path.unlink(missing_ok=True)


def read_entries(segment: Segment, *, with_data: bool = True) -> Iterator[tuple[int, Entry]]:
    """Entries of a segment in order, each with the number of its original segment.

    Raises:
        ArchiveError: The file is damaged or gone; entries before the damage are yielded first.
    """
    rows = _read_rows(segment, with_data=with_data)
    for number, entry in rows:
        size = entry.byte_count or 0
        if entry.data is not None and len(entry.data) < size:
            parts = chain([entry.data], (follower.data for _, follower in rows))
            read = partial(_next_part, parts)
            data = gather(read, size, f"{segment.path}: {entry.name}")
            yield number, entry._replace(data=memoryview(data))
        else:
            yield number, entry


def _next_part(parts: Iterator[Any], most_bytes: int) -> Any:
    """The next part of a file; None if only one byte is wanted, to check for the end."""
    return next(parts, b"") if most_bytes > 1 else b""


@lru_cache(maxsize=1 << 12)
def data_bytes(segment: Segment) -> int:
    """Uncompressed size of the entries of a segment.

    Raises:
        ArchiveError: The file is damaged or gone.
    """
    import pyarrow.parquet as pq

    with _archive_errors(segment), pa.OSFile(str(segment.path)) as source:
        facts = pq.read_metadata(source)
        return sum(facts.row_group(group).total_byte_size for group in range(facts.num_row_groups))


def check_segment(segment: Segment) -> None:
    """Check that the file is unchanged since it was sealed.

    Raises:
        ArchiveError: The file is damaged or gone.
    """
    try:
        with open(segment.path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ArchiveError(
            str(segment.path),
            f"cannot be read: {error.strerror}; repair the disk, or restore the file from a copy",
        ) from error
    if not digest.startswith(segment.digest):
        raise ArchiveError(
            str(segment.path),
            f"is damaged: its SHA-256 begins with {digest[:_DIGEST]}, wanted {segment.digest}",
        )


def _read_rows(segment: Segment, *, with_data: bool) -> Iterator[tuple[int, Entry]]:
    """Rows as entries, each with its segment's number; parts of a file in a row group are joined.

    With data, a file that continues in the next row group has another entry there.

    Raises:
        ArchiveError: The file is damaged or gone.
    """
    import pyarrow.parquet as pq

    names = [name for name in SEGMENT.names if with_data or name != "data"]
    with (
        _archive_errors(segment),
        pa.OSFile(str(segment.path)) as source,
        pq.ParquetFile(source, page_checksum_verification=True) as file,
    ):
        for group in range(file.num_row_groups):
            read = partial(file.read_row_group, group, columns=names, use_threads=False)
            yield from _entries(read(), with_data=with_data)


@contextmanager
def _archive_errors(segment: Segment) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        problem = str(error).splitlines()[0]
        raise ArchiveError(str(segment.path), f"is damaged or gone ({problem})") from error


def _entries(table: pa.Table, *, with_data: bool) -> Iterator[tuple[int, Entry]]:
    """Entries of a row group, see `_read_rows`."""
    is_first = table["part"].to_numpy() == 0
    is_first[:1] |= with_data
    rows = np.flatnonzero(is_first)
    numbers, kinds, times, *plain = (table[name] for name in SEGMENT.names[:-2])
    names, hashes, *ids = (_pick(column.to_pylist(), rows) for column in plain)
    numbered = (None if row[0] is None else Ids._make(row) for row in zip(*ids[:4], strict=True))
    data = _views(table["data"], rows) if with_data else repeat(None)
    at = map(_time, times.to_numpy()[rows].astype(np.int64).tolist())
    kind = _pick(kinds.to_pylist(), rows)
    entries = map(Entry, kind, at, names, hashes, numbered, *ids[4:], data)
    return zip(numbers.to_numpy()[rows].tolist(), entries, strict=True)


def _pick(values: list[Any], rows: NDArray[np.int64]) -> list[Any]:
    return values if len(rows) == len(values) else [values[row] for row in rows.tolist()]


@lru_cache(maxsize=16)
def _time(microseconds: int) -> datetime:
    """The time of a number of microseconds after 1970; neighbouring entries often share it."""
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)


def _views(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> Iterator[memoryview | None]:
    """The bytes from each of these rows to the next, without a copy."""
    (data,) = column.chunks  # A row group is far smaller than a chunk may be
    _, offsets, values = data.buffers()
    view = memoryview(values or b"")
    ends = np.frombuffer(offsets, np.int32, len(data) + 1, 4 * data.offset)
    starts = [*ends[rows].tolist(), int(ends[-1])]
    is_there = _pick(data.is_valid().to_pylist(), rows)
    for is_bytes, start, end in zip(is_there, starts, starts[1:], strict=False):
        yield view[start:end] if is_bytes else None


class SegmentWriter:
    """Writes a segment, which readers see only once it is sealed.

    Another thread compresses the entries, which are in memory until then.
    """

    def __init__(self, folder: Path, number: int) -> None:
        """Begin the segment of that number; `add` creates its file."""
        self.folder = folder
        self._file = folder / f"{number:012}{UNFINISHED}"
        self._sink: pa.NativeFile | None = None
        self._writer: pq.ParquetWriter | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tracehouse-archive")
        self._written: list[Future[None]] = []
        self._digest: Future[str] | None = None
        self._first = self._last = number
        self._published: Path | None = None

    def add(self, entries: Sequence[Entry]) -> None:
        """Append entries."""
        assert self._digest is None, "nothing is added to a segment that is being closed"
        numbered = zip(repeat(self._first), entries)
        self._written.append(self._thread.submit(self._write, numbered))

    def copy(self, numbered: Iterable[tuple[int, Entry]], last: int) -> None:
        """Append entries of segments up to `last`, each with its segment's number."""
        self._last = last
        self._write(numbered)

    def end(self) -> Future[str]:
        """Start writing the entries to disk; returns the future SHA-256 of the file."""
        self._digest = self._digest or self._thread.submit(self._finish)
        return self._digest

    def seal(self) -> Segment:
        """Publish the segment once its entries are on disk.

        Raises:
            OSError: The disk is full, for example; the caller then discards the segment.
        """
        sha256 = self.end().result()
        self._thread.shutdown()
        segment = Segment.of_content(self.folder, self._first, self._last, sha256)
        self._file.chmod(self._file.stat().st_mode & self.folder.stat().st_mode & 0o444)
        if not segment.path.exists():
            self._published = segment.path
        rename(self._file, segment.path)
        return segment

    def discard(self) -> None:
        """Delete the file, unfinished or published."""
        self._thread.shutdown(cancel_futures=True)
        if self._writer is not None and self._sink is not None:
            with suppress(OSError):  # The disk may be full; the file is deleted anyway
                self._writer.close()
            self._writer.is_open = False  # or its destructor would close it again
            self._sink.close()
        self._file.unlink(missing_ok=True)
        if self._published:
            self._published.unlink(missing_ok=True)

    def _write(self, numbered: Iterable[tuple[int, Entry]]) -> None:
        for rows in _row_groups(numbered):
            self._write_rows(rows)

    def _write_rows(self, rows: Sequence[tuple[Any, ...]]) -> None:
        *columns, data = zip(*rows, strict=True)
        arrays = [*map(pa.array, columns, SEGMENT.types[:-1]), _binary(data)]
        self._open()[0].write_table(pa.Table.from_arrays(arrays, schema=SEGMENT))

    def _finish(self) -> str:
        for written in self._written:
            written.result()
        for opened in self._open():
            opened.close()
        with open(self._file, "rb") as file:
            os.fsync(file.fileno())
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _open(self) -> tuple[pq.ParquetWriter, pa.NativeFile]:
        import pyarrow.parquet as pq  # a slow import, which opening a store does not need

        if self._writer is None or self._sink is None:
            self._sink = pa.OSFile(str(self._file), "wb")  # pyarrow may take a path for a URI
            self._writer = pq.ParquetWriter(
                self._sink,
                SEGMENT,
                compression="zstd",
                compression_level=_LEVEL,
                use_dictionary=list(_REPEATED),
                write_statistics=False,
                write_page_checksum=True,
                store_schema=False,
                data_page_size=_PAGE_BYTES,
            )
        return self._writer, self._sink


def _row_groups(numbered: Iterable[tuple[int, Entry]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Rows of the entries, one row group at a time; each list is reused for the next."""
    rows: list[tuple[Any, ...]] = []
    size = before = 0
    for number, entry in numbered:
        assert before <= number, "entries stay in the order of their segments"
        before = number
        facts = (number, *entry[:4], *(entry.ids or _NO_IDS), *entry[5:-2])
        count = None if entry.data is None else len(entry.data)
        # The parts of a file in one group are contiguous.
        if rows and size + (count or 0) > ROW_GROUP_BYTES:
            yield rows
            rows.clear()
            size = 0
        for part, data in enumerate(_parts(entry.data)):
            rows.append((*facts, count, part, data))
            size += len(data or b"")
            if size >= ROW_GROUP_BYTES:
                yield rows
                rows.clear()
                size = 0
    if rows:
        yield rows


def _parts(data: Any) -> Iterator[memoryview | None]:
    if data is None:
        yield None
        return
    view = memoryview(data).cast("B")
    for start in range(0, max(len(view), 1), PART_BYTES):
        yield view[start : start + PART_BYTES]


def _binary(values: Sequence[memoryview | None]) -> pa.ChunkedArray:
    """Bytes as a column without a copy; `pa.array` would never release a memoryview."""
    return pa.chunked_array(map(_chunk, values), pa.binary())


def _chunk(value: memoryview | None) -> pa.Array:
    if value is None:
        return pa.nulls(1, pa.binary())
    offsets = pa.py_buffer(np.array([0, len(value)], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(value)])
