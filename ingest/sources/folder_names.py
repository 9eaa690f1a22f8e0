"""Names of files that may belong to dumps in the same folder; each folder is listed once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import (
    DEBUG_BUFFER_SUFFIX,
    ETRECORD_SUFFIX,
    FolderFiles,
    sort_files,
)
from tracehouse.ingest.sources.places import Folder, Source
from tracehouse.ingest.sources.zip_artifacts import find_artifact
from tracehouse.ingest.sources.zip_limits import ZIP_FAULTS

_NONE: frozenset[str] = frozenset()


class FolderNames:
    """Names of manifests and companions in folders."""

    def __init__(self) -> None:
        self._known: dict[Folder, FolderFiles | None] = {}

    def add(self, folder: Folder, names: Iterable[str]) -> FolderFiles:
        """Set the names of all files in a folder, which is then not listed."""
        files = self._known[folder] = sort_files(names)
        return files

    def find(self, folder: Folder) -> FolderFiles | None:
        """The files in a folder; None if they are unknown (no permission, damaged zip)."""
        if folder not in self._known:
            names = list_names(folder)
            self._known[folder] = None if names is None else sort_files(names)
        return self._known[folder]

    def shared_file(self, folder: Folder, name: str) -> Source:
        """The file of this name for all dumps in a folder and below, existing or not.

        No folder is listed for it, which may take long; a zip is listed anyway.
        """
        files = self._known.get(folder) if folder.inner is None else self.find(folder)
        return folder.file((files and files.find(name)) or name)


def list_names(folder: Folder) -> frozenset[str] | None:
    """Names of all files in a folder; None if unknown (no permission, damaged zip)."""
    try:
        if folder.inner is None:
            return frozenset(os.listdir(folder.path or "."))
        artifact, inner = find_artifact(folder.path, folder.inner)
        return artifact.folders.get(inner, _NONE) if artifact else None
    except (OSError, SourceError, *ZIP_FAULTS):
        return None


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
