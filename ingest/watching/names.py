"""Names of the files of new dumps, also in folders that take long to list."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from tracehouse.ingest.sources.file_names import (
    ALL_FOLDER_COMPANIONS,
    FolderFiles,
    companion_names,
    sort_files,
)
from tracehouse.ingest.sources.folder_names import FolderNames, list_names
from tracehouse.ingest.sources.places import Folder, Source

_PAUSE = 20  # a folder is listed again after this many times its listing time


class CurrentNames(FolderNames):
    """Current names: a folder's last listing, and the companions of new files.

    Listing a folder repeatedly takes at most a twentieth of the time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._due: dict[Folder, float] = {}
        self._own: dict[Folder, FolderFiles] = {}
        self._merged: dict[Folder, FolderFiles] = {}

    def begin(self, paths: Sequence[str]) -> None:
        """Look for the companions of local files that are about to be ingested."""
        now = self._clock()
        for folder in [folder for folder, due in self._due.items() if due <= now]:
            del self._due[folder]
            self._known.pop(folder, None)
        wanted: dict[Folder, set[str]] = {}
        for path in paths:
            folder = Source(path).folder
            if folder not in wanted:
                wanted[folder] = {folder.file(name).path for name in ALL_FOLDER_COMPANIONS}
            wanted[folder].update((path, *companion_names(path)))
        self._own = {
            folder: sort_files(os.path.basename(name) for name in names if os.path.lexists(name))
            for folder, names in wanted.items()
        }
        self._merged = {}

    def find(self, folder: Folder) -> FolderFiles | None:
        """The files in a folder; None if they are unknown."""
        if folder not in self._known:
            start = self._clock()
            names = list_names(folder)
            end = self._clock()
            self._due[folder] = end + _PAUSE * (end - start)
            self._merged.pop(folder, None)
            if names is None:
                return None
            self.add(folder, names)
        known = self._known[folder]
        if known is None:
            return None
        if folder not in self._merged:
            self._merged[folder] = _merge(known, self._own.get(folder))
        return self._merged[folder]


def _merge(known: FolderFiles, own: FolderFiles | None) -> FolderFiles:
    if own is None or own.by_name.keys() <= known.by_name.keys():
        return known
    dump_count = max(known.dump_count, own.dump_count)
    return FolderFiles.of({**known.by_name, **own.by_name}, dump_count)
