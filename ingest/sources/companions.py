"""Files that belong to a dump: the ETRecord of its program, and its debug buffer."""

from __future__ import annotations

import os
from typing import NamedTuple

from ingest.sources.folder_names import DEBUG_BUFFER_SUFFIX, ETRECORD_SUFFIX, FolderNames
from ingest.sources.places import Folder, Source

__all__ = ["DEBUG_BUFFER_SUFFIX", "ETRECORD_SUFFIX", "CompanionFinder", "Companions"]


class Companions(NamedTuple):
    """The ETRecord and the debug buffer of a dump; None if the dump has none."""

    etrecord: Source | None = None
    debug_buffer: Source | None = None


class CompanionFinder:
    """Finds the companions of the dumps of one run."""

    def __init__(self, etrecord: Source | None = None, *, names: FolderNames | None = None) -> None:
        """Use `etrecord` for all dumps, if given; otherwise look next to each dump."""
        self._etrecord = etrecord
        self._names = names or FolderNames()
        self._alone: dict[Folder, str | None] = {}  # a folder's only ETRecord

    def find(self, source: Source) -> Companions:
        """The companions of a dump.

        For ``NAME.etdp`` these are ``NAME.debug.bin``, and ``NAME.etrecord`` or the only file
        with that suffix in the folder.
        """
        folder = source.folder
        names = self._names.find(folder)
        if not names:
            return Companions(self._etrecord)
        stem = os.path.splitext(source.file_name)[0]
        own, buffer = f"{stem}{ETRECORD_SUFFIX}", f"{stem}{DEBUG_BUFFER_SUFFIX}"
        record = own if own in names else self._find_alone(folder, names)
        return Companions(
            self._etrecord or (folder.file(record) if record else None),
            folder.file(buffer) if buffer in names else None,
        )

    def _find_alone(self, folder: Folder, names: frozenset[str]) -> str | None:
        if folder not in self._alone:
            records = [name for name in names if name.endswith(ETRECORD_SUFFIX)]
            self._alone[folder] = records[0] if len(records) == 1 else None
        return self._alone[folder]
