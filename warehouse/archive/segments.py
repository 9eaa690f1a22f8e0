"""Segments: entries in immutable Parquet files, each named after its hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.sources.private_bytes import gather
from tracehouse.warehouse.archive.entries import SEGMENT, Entry, Ids
from tracehouse.warehouse.errors import ArchiveError

_DIGEST = 16  # hex digits in a name
_NAME = re.compile(rf"(\d{{12}})-(\d{{12}})\.([0-9a-f]{{{_DIGEST}}})\.parquet")


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
    (data,) = column.chunks  # of a row group, which is far smaller than a chunk may be
    _, offsets, values = data.buffers()
    view = memoryview(values or b"")
    ends = np.frombuffer(offsets, np.int32, len(data) + 1, 4 * data.offset)
    starts = [*ends[rows].tolist(), int(ends[-1])]
    is_there = _pick(data.is_valid().to_pylist(), rows)
    for is_bytes, start, end in zip(is_there, starts, starts[1:], strict=False):
        yield view[start:end] if is_bytes else None
