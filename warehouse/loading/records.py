"""What an ingest knows of a file before it is in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ingest.manifest.resolver import Manifest

if TYPE_CHECKING:
    from warehouse.programs.reader import Program


class LoggedBuffer(NamedTuple):
    """A debug buffer: the name of its file, its bytes and their SHA-256."""

    source: str
    data: bytes | memoryview
    sha256: str


class NewDump(NamedTuple):
    """What the store keeps of a dump besides its content; and the files that came with it."""

    source: str
    sha256: str
    manifest: Manifest
    program: Program | None = None
    debug_buffer: LoggedBuffer | None = None


class Refusal(NamedTuple):
    """A file that was refused: which, why (machine-readable), where in it, and in words."""

    source: str
    sha256: str | None
    reason: str
    byte_offset: int | None
    detail: str
