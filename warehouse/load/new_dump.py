"""A dump with its bytes, manifest and companions, ready to be loaded into the store."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tracehouse.ingest.dump import NOW, HashedFile
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.archive.entries import Ids

if TYPE_CHECKING:
    from tracehouse.warehouse.programs.reader import Program


class NewDump(NamedTuple):
    """A dump to store.

    Attributes:
        source: Name of the dump at its origin.
        sha256: SHA-256 of its bytes.
        manifest: Its manifest.
        program: Its ETRecord, if any.
        debug_buffer: Its debug buffer, if any.
        data: Its bytes; None if they are decoded already and archived.
        ids: Its ids in the archive; None for a new dump.
        taken_at: Its time of ingest in the archive; NOW for a new dump.
        known_manifest: The manifest under which the store, or an earlier file, has these bytes.
    """

    source: str
    sha256: str
    manifest: Manifest
    program: Program | None = None
    debug_buffer: HashedFile | None = None
    data: Any = None
    ids: Ids | None = None
    taken_at: datetime = NOW
    known_manifest: str | None = None

    def companions(self) -> dict[str, HashedFile]:
        """The ETRecord and the debug buffer that the dump has, by attribute."""
        files = {}
        if self.program:
            _, source, sha256, _, data, _ = self.program
            files["program"] = HashedFile(source, data, sha256)
        if self.debug_buffer:
            files["debug_buffer"] = self.debug_buffer
        return files
