"""A dump with its bytes, manifest and companions, ready to be loaded into the store."""

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
        source: Name of the dump at its origin.
        sha256: SHA-256 of the bytes.
        manifest: The manifest.
        program: The ETRecord, if any.
        debug_buffer: The debug buffer, if any.
        data: The bytes; None if they are already decoded and archived.
        ids: The ids in the archive; None for a new dump.
        taken_at: The time of ingest in the archive; NOW for a new dump.
    """

    source: str
    sha256: str
    manifest: Manifest
    program: Program | None = None
    debug_buffer: HashedFile | None = None
    data: Any = None
    ids: Ids | None = None
    taken_at: datetime = NOW

    def companions(self) -> dict[str, HashedFile]:
        """The ETRecord and the debug buffer that the dump has, by attribute."""
        files = {}
        if self.program:
            record = self.program.record
            files["program"] = HashedFile(record.source, self.program.data, record.sha256)
        if self.debug_buffer:
            files["debug_buffer"] = self.debug_buffer
        return files
