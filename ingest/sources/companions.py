"""Files that belong to a dump: the ETRecord of its program, and its debug buffer."""

from __future__ import annotations

import os
from typing import NamedTuple

from ingest.sources.paths import Folder, Source, list_names

ETRECORD_SUFFIX = ".etrecord"
DEBUG_BUFFER_SUFFIX = ".debug.bin"


class Companions(NamedTuple):
    """The ETRecord and the debug buffer of a dump, where it has them."""

    etrecord: Source | None = None
    debug_buffer: Source | None = None


class CompanionFinder:
    """Finds the companions of the dumps of one run, listing each folder once."""

    def __init__(self, etrecord: Source | None = None) -> None:
        """Take the ETRecord of all dumps; None to look for them beside the dumps."""
        self._etrecord = etrecord
        self._known: dict[Folder, tuple[frozenset[str], str | None]] = {}

    def find(self, source: Source) -> Companions:
        """The companions of a dump.

        They stand beside ``NAME.etdp``: ``NAME.debug.bin``, and ``NAME.etrecord`` or the only
        file of that suffix in the folder.
        """
        folder = source.folder
        if folder not in self._known:
            self._known[folder] = _list_companions(folder)
        names, shared = self._known[folder]
        if not names:
            return Companions(self._etrecord)
        stem = os.path.splitext(source.file_name)[0]
        own, buffer = f"{stem}{ETRECORD_SUFFIX}", f"{stem}{DEBUG_BUFFER_SUFFIX}"
        record = own if own in names else shared
        return Companions(
            self._etrecord or (folder.file(record) if record else None),
            folder.file(buffer) if buffer in names else None,
        )


def _list_companions(folder: Folder) -> tuple[frozenset[str], str | None]:
    """Names of the ETRecords and debug buffers in a folder, and the ETRecord that is alone."""
    names = frozenset(
        name
        for name in list_names(folder) or ()
        # macOS puts an AppleDouble file "._NAME" beside each NAME when it packs or copies.
        if name.endswith((ETRECORD_SUFFIX, DEBUG_BUFFER_SUFFIX)) and not name.startswith("._")
    )
    records = [name for name in names if name.endswith(ETRECORD_SUFFIX)]
    return names, records[0] if len(records) == 1 else None
