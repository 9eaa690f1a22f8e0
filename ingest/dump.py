"""A dump to ingest, from any producer and for any consumer; and refusals of files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, NoReturn, final

from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.ingest.manifest.models import Manifest

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


@final
@dataclass(frozen=True)
class Companion:
    """A file that comes with a dump.

    Attributes:
        name: Name of the file in messages and in the store.
        read: Returns the bytes, which no longer change, or raises SourceError.
        byte_count: Its size; 0 if the size is not known.
        key: Companions with the same key have the same bytes, so one read is enough.
    """

    name: str
    read: Callable[[], Bytes] = field(compare=False)
    byte_count: int = field(default=0, compare=False)
    key: Hashable = field(default_factory=object)

    def read_hashed(self) -> HashedFile:
        """The bytes with their SHA-256; errors are those of `read`."""
        return HashedFile.of(self.name, self.read())


@dataclass(frozen=True)
class Dump:
    """A dump with its manifest and companions.

    Attributes:
        name: Name of the dump in messages and in the store.
        read: Returns the bytes, which no longer change, or raises SourceError.
        manifest: Returns its manifest, or raises ManifestError or SourceError.
        byte_count: Size of the dump; 0 if the size is not known.
        etrecord: The ETRecord of its program, if it comes with one.
        debug_buffer: Its debug buffer, if it comes with one.
        sha256: SHA-256 of the dump, if its bytes are already known to match.
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
        """A stand-in for a dump that cannot be read, so that its refusal is recorded."""
        return cls(error.source, partial(_fail, error), partial(_fail, error))

    def renamed(self, rename: Callable[[str], str]) -> Dump:
        """The dump with other names for it and its companions."""
        record, buffer = self.etrecord, self.debug_buffer
        return replace(
            self,
            name=rename(self.name),
            etrecord=record and replace(record, name=rename(record.name)),
            debug_buffer=buffer and replace(buffer, name=rename(buffer.name)),
        )

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
        source: Name of the file at its origin.
        sha256: SHA-256 of its bytes; None if they could not be read.
        reason: Why it was refused, machine-readable.
        byte_offset: Offset of the fault in the file; None if there is no single place.
        detail: The reason in words.
        data: The bytes, for the archive; None if unreadable or already archived.
        refused_at: When it was refused; NOW for a new refusal.
        manifest: Manifest of the dump, as canonical JSON; None if it is not known.
    """

    source: str
    sha256: str | None
    reason: str
    byte_offset: int | None
    detail: str
    data: Any = None
    refused_at: datetime = NOW
    manifest: str | None = None

    @classmethod
    def of_error(cls, name: str, error: ManifestError | SourceError) -> Refusal:
        """The refusal of a file that cannot be read, or of a dump without a valid manifest."""
        return cls(name, None, error.reason, None, describe_problem(error, name))


def describe_problem(error: Any, name: str) -> str:
    """The message of an ingest error; without the file's name if that is `name`."""
    return str(error.problem) if error.source == name else str(error)


def _in_memory(name: str, data: Bytes | None) -> Companion | None:
    return None if data is None else Companion(name, lambda: data, len(data))


def _fail(error: SourceError) -> NoReturn:
    raise error
