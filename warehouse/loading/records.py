"""What an ingest knows of a file before it is in the store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.manifest.resolver import Manifest
from warehouse.archive.entries import Ids

if TYPE_CHECKING:
    from warehouse.programs.reader import Program


NOW = datetime.max.replace(tzinfo=UTC)  # the time of the transaction, whenever that will be


class LoggedBuffer(NamedTuple):
    """A debug buffer: the name of its file, its bytes and their SHA-256."""

    source: str
    data: bytes | memoryview
    sha256: str


class NewDump(NamedTuple):
    """A dump to store.

    Attributes:
        source: What it was called where it came from.
        sha256: SHA-256 of its bytes.
        manifest: What the bytes do not say.
        program: The ETRecord it came with.
        debug_buffer: The debug buffer it came with.
        data: Its bytes, for the archive.
        ids: The numbers it has by the archive; None for a dump that is new.
        taken_at: When it was taken, likewise; NOW for a dump that is new.
    """

    source: str
    sha256: str
    manifest: Manifest
    program: Program | None = None
    debug_buffer: LoggedBuffer | None = None
    data: Any = None
    ids: Ids | None = None
    taken_at: datetime = NOW


class Refusal(NamedTuple):
    """A file that was refused.

    Attributes:
        source: What it was called where it came from.
        sha256: SHA-256 of its bytes; None if they could not be read.
        reason: Why, machine-readable.
        byte_offset: Where in it.
        detail: Why, in words.
        data: Its bytes, for the archive; None if they could not be read, or are there.
        refused_at: When it was refused; NOW for one that is new.
    """

    source: str
    sha256: str | None
    reason: str
    byte_offset: int | None
    detail: str
    data: Any = None
    refused_at: datetime = NOW
