"""A dump that was read and described: what is loaded into the store."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.dump import NOW, HashedFile
from ingest.manifest.models import Manifest
from warehouse.archive.entries import Ids

if TYPE_CHECKING:
    from warehouse.programs.reader import Program


class NewDump(NamedTuple):
    """A dump to store.

    Attributes:
        source: What the dump was called where it came from.
        sha256: SHA-256 of its bytes.
        manifest: What the bytes do not say.
        program: The ETRecord it came with.
        debug_buffer: The debug buffer it came with.
        data: Its bytes, for the archive.
        ids: The numbers the archive has for it; None for a new dump.
        taken_at: When the archive says it was taken; NOW for a new dump.
    """

    source: str
    sha256: str
    manifest: Manifest
    program: Program | None = None
    debug_buffer: HashedFile | None = None
    data: Any = None
    ids: Ids | None = None
    taken_at: datetime = NOW
