"""Files that belong to a dump: the ETRecord of its program, and its debug buffer."""

from __future__ import annotations

from typing import NamedTuple

from tracehouse.ingest.sources.file_names import DEBUG_BUFFER_SUFFIX, ETRECORD_SUFFIX
from tracehouse.ingest.sources.folder_names import FolderNames
from tracehouse.ingest.sources.places import Source

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

    def find(self, source: Source) -> Companions:
        """The companions of a dump.

        For ``NAME.etdp`` these are ``NAME.etrecord``, or the only ETRecord of the folder
        (``etrecord.bin`` counts, too), and ``NAME.debug.bin``, or the ``debug_output.bin`` or
        ``debug_buffer.bin`` of a folder with one dump.
        """
        folder = source.folder
        files = self._names.find(folder)
        if files is None or not files.by_name:
            return Companions(self._etrecord)
        record, buffer = files.companions_of(source.file_name)
        return Companions(
            self._etrecord or (folder.file(record) if record else None),
            folder.file(buffer) if buffer else None,
        )
