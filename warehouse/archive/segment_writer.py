"""The writer of a segment, which compresses entries in a thread of its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tracehouse.ingest.durable import rename
from tracehouse.warehouse.archive.entries import SEGMENT, Entry, Ids
from tracehouse.warehouse.archive.segments import Segment

if TYPE_CHECKING:
    import pyarrow.parquet as pq

PART_BYTES = 4 << 20
ROW_GROUP_BYTES = 16 << 20  # of data
UNFINISHED = ".new"
_LEVEL = 1  # of zstd: higher levels save little and slow ingests down
_PAGE_BYTES = 2 << 20  # uncompressed
_REPEATED = ("kind", "manifest", "etrecord_sha256", "debug_buffer_sha256", "reason")
_NO_IDS = (None,) * len(Ids._fields)


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
            with suppress(OSError):  # of a full disk; the file is deleted anyway
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
