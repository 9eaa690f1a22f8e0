"""Names of the files of new dumps, also in folders that take long to list."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from ingest.sources.folder_names import FolderNames, companion_names, list_names
from ingest.sources.places import Folder, Source

_PAUSE = 20  # a folder is listed again after this many times its listing time


class CurrentNames(FolderNames):
    """Current names: a folder's last listing, and the companions of new files.

    Listing a folder repeatedly takes at most a twentieth of the time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._due: dict[Folder, float] = {}
        self._own: dict[Folder, set[str]] = {}

    def begin(self, paths: Sequence[str]) -> None:
        """Look for the companions of local files that are about to be ingested."""
        now = self._clock()
        for folder in [folder for folder, due in self._due.items() if due <= now]:
            del self._due[folder]
            self._known.pop(folder, None)
        self._own = {}
        for path in paths:
            own = self._own.setdefault(Source(path).folder, set())
            own.update(
                os.path.basename(name) for name in companion_names(path) if os.path.lexists(name)
            )

    def find(self, folder: Folder) -> frozenset[str] | None:
        """Names in a folder; None if unknown."""
        if folder not in self._known:
            start = self._clock()
            names = list_names(folder)
            end = self._clock()
            self._due[folder] = end + _PAUSE * (end - start)
            if names is None:
                return None
            self.add(folder, names)
        known, own = self._known[folder], self._own.get(folder)
        return known if known is None or not own else known | own
