"""The bytes of sources, and their sizes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import packing_of
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.private_bytes import (
    read_declared_bytes,
    read_file,
    read_file_end,
    unpack,
)
from tracehouse.ingest.sources.zip_artifacts import find_artifact, read_member
from tracehouse.ingest.sources.zip_limits import ZIP_FAULTS, NotAZipError

MAX_DUMP_BYTES = 2 << 30  # FlatBuffers files cannot be larger
MAX_FILE_BYTES = 4 << 30  # largest ETRecord or debug buffer

ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


def count_bytes(source: Source) -> int:
    """Size of a source according to its folder or zip; 0 if unknown."""
    try:
        if source.member is None:
            return os.stat(source.path).st_size
        artifact, member = find_artifact(source.path, source.member)
        return artifact.size_of(member) if artifact else 0
    except (OSError, SourceError, *ZIP_FAULTS):
        return 0


def count_unpacked_bytes(source: Source) -> int:
    """Size of a dump or companion, unpacked if it is packed; 0 if unknown."""
    packing = packing_of(source.file_name)
    byte_count = count_bytes(source)  # the unpacked size of a zip's member
    if packing is None or source.member is not None:
        return byte_count
    try:
        with open(source.path, "rb") as file:
            return read_declared_bytes(partial(_read_at, file.fileno()), byte_count, packing)
    except OSError:
        return 0


def read_dump_bytes(source: Source) -> bytes | memoryview:
    """The bytes of a dump, as `read_source` gives them; its errors are passed on."""
    return read_source(source, most_bytes=MAX_DUMP_BYTES)


def read_source(source: Source, *, most_bytes: int = MAX_FILE_BYTES) -> bytes | memoryview:
    """The bytes of a source, independent of later changes of the file, and unpacked.

    For a large file, the result is a memory map of a private copy.

    Raises:
        SourceError: The file is gone, not a regular file, too large or unreadable, or changed
            while it was read; the zip is damaged or encrypted; or packed data is damaged, or would
            inflate too much.
    """
    data = read_if_present(source, most_bytes=most_bytes)
    if data is None:
        raise SourceError(source.name, "does not exist (any more); check the path")
    packing = packing_of(source.file_name)
    if packing is None:
        return data
    free_bytes = None if source.member is None else 0
    return unpack(data, source.name, packing, most_bytes=most_bytes, free_bytes=free_bytes)


def read_if_present(
    source: Source, *, most_bytes: int = MAX_FILE_BYTES
) -> bytes | memoryview | None:
    """The bytes of a source as `read_source` gives them, or None if there is no such file.

    Raises:
        SourceError: The file exists, but cannot be read.
    """
    try:
        with reading_errors(source.name):
            if source.member is None:
                return read_file(source.path, source.name, most_bytes=most_bytes)
            return read_member(source, source.member, most_bytes)
    except SourceError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in ABSENT:
            return None
        raise


def read_end_if_present(source: Source, *, most_bytes: int) -> bytes | memoryview | None:
    """The last bytes of a source, or None if there is no such file; only these are in memory.

    Raises:
        SourceError: The file exists, but cannot be read.
    """
    if count_bytes(source) <= most_bytes:
        return read_if_present(source, most_bytes=most_bytes)
    with reading_errors(source.name):
        if source.member is None:
            return read_file_end(source.path, source.name, most_bytes=most_bytes)
        artifact, member = find_artifact(source.path, source.member)
        return artifact.read_end(member, source.name, most_bytes) if artifact else None


def _read_at(file: int, start: int, count: int) -> bytes:
    return os.pread(file, count, start)


@contextmanager
def reading_errors(name: str) -> Iterator[None]:
    """Translate errors of reading a file or zip.

    Raises:
        SourceError: The file cannot be read, or the zip is damaged.
    """
    try:
        yield
    except OSError as error:
        raise SourceError(name, describe_refusal(error)) from error
    except NotAZipError as error:
        raise SourceError(name, str(error)) from error
    except ZIP_FAULTS as error:
        raise SourceError(name, f"damaged zip: {error}; copy it again") from error


def describe_refusal(error: OSError) -> str:
    """Why a file cannot be read."""
    remedy = "; check the path" if error.errno in ABSENT else ""
    return f"cannot be read: {error.strerror or error}{remedy}"
