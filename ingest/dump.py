"""A dump on its way in, whoever hands it over and whoever takes it; and files that are refused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, NoReturn

from ingest.errors import ManifestError, SourceError
from ingest.manifest.models import Manifest

Bytes = bytes | memoryview

NOW = datetime.max.replace(tzinfo=UTC)  # stands for the time of the transaction


class HashedFile(NamedTuple):
    """A file that was read: its name, its bytes and their SHA-256."""

    name: str
    data: Bytes
    sha256: str

    @classmethod
    def of(cls, name: str, data: Bytes) -> HashedFile:
        """The file of these bytes, which are hashed."""
        return cls(name, data, hashlib.sha256(data).hexdigest())


class Companion(NamedTuple):
    """A file that comes with a dump. Two equal companions hold the same, so it is read once.

    Attributes:
        name: What the file is called in messages and in the store.
        read: Returns its bytes, which nothing changes any more, or raises SourceError.
        byte_count: Its size; 0 if the size is not known.
    """

    name: str
    read: Callable[[], Bytes]
    byte_count: int = 0


@dataclass(frozen=True)
class Dump:
    """A dump and what comes with it.

    Attributes:
        name: What the dump is called in messages and in the store.
        read: Returns its bytes, which nothing changes any more, or raises SourceError.
        manifest: Returns its manifest, or raises ManifestError or SourceError.
        byte_count: Size of the dump; 0 if the size is not known.
        etrecord: The ETRecord of its program, if it comes with one.
        debug_buffer: Its debug buffer, if it comes with one.
        sha256: SHA-256 of the dump, if its bytes were compared with that already.
    """

    name: str
    read: Callable[[], Bytes]
    manifest: Callable[[], Manifest]
    byte_count: int = 0
    etrecord: Companion | None = None
    debug_buffer: Companion | None = None
    sha256: str | None = None

    @classmethod
    def of_bytes(
        cls,
        name: str,
        data: Bytes,
        manifest: Manifest,
        *,
        etrecord: Bytes | None = None,
        debug_buffer: Bytes | None = None,
    ) -> Dump:
        """A dump that is in memory, with its manifest and companions."""
        return cls(
            name,
            lambda: data,
            lambda: manifest,
            len(data),
            _in_memory(f"{name}: ETRecord", etrecord),
            _in_memory(f"{name}: debug buffer", debug_buffer),
        )

    @classmethod
    def unreadable(cls, error: SourceError) -> Dump:
        """A dump that cannot be read: a path at fault or a damaged log, which is put on record."""
        return cls(error.source, partial(_fail, error), partial(_fail, error))

    def read_hashed(self) -> HashedFile:
        """The dump's bytes with their SHA-256; errors are those of `read`."""
        data = self.read()
        return (
            HashedFile(self.name, data, self.sha256)
            if self.sha256
            else HashedFile.of(self.name, data)
        )


class Refusal(NamedTuple):
    """A file that was refused.

    Attributes:
        source: What the file was called where it came from.
        sha256: SHA-256 of its bytes; None if they could not be read.
        reason: Why it was refused, machine-readable.
        byte_offset: Where in the file the fault is; None if it is no single place.
        detail: The reason in words.
        data: Its bytes, for the archive; None if they could not be read, or are archived.
        refused_at: When it was refused; NOW for a new refusal.
    """

    source: str
    sha256: str | None
    reason: str
    byte_offset: int | None
    detail: str
    data: Any = None
    refused_at: datetime = NOW

    @classmethod
    def of_error(cls, name: str, error: ManifestError | SourceError) -> Refusal:
        """The refusal of a file that cannot be read, or of a dump without a valid manifest."""
        return cls(name, None, error.reason, None, describe_problem(error, name))


def describe_problem(error: Any, name: str) -> str:
    """What an ingest error says, without the name of its file where that is this name."""
    return str(error.problem) if error.source == name else str(error)


def _in_memory(name: str, data: Bytes | None) -> Companion | None:
    return None if data is None else Companion(name, lambda: data, len(data))


def _fail(error: SourceError) -> NoReturn:
    raise error
