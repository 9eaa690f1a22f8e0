"""Names of files that may belong to dumps in the same folder; each folder is listed once."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ingest.errors import SourceError
from ingest.sources.places import Folder
from ingest.sources.zip_artifacts import find_artifact
from ingest.sources.zip_limits import ZIP_FAULTS

ETRECORD_SUFFIX = ".etrecord"
DEBUG_BUFFER_SUFFIX = ".debug.bin"
MANIFEST_SUFFIX = ".json"
LOG_SUFFIX = ".log"
QHAS_SUFFIX = ".qhas.json"

_OWN_SUFFIXES = (DEBUG_BUFFER_SUFFIX, ETRECORD_SUFFIX, MANIFEST_SUFFIX, LOG_SUFFIX, QHAS_SUFFIX)
_NONE: frozenset[str] = frozenset()


class FolderNames:
    """Names of manifests and companions in folders."""

    def __init__(self) -> None:
        self._known: dict[Folder, frozenset[str] | None] = {}

    def add(self, folder: Folder, names: Iterable[str]) -> None:
        """Set the names of a folder, which is then not listed."""
        self._known[folder] = frozenset(filter(_belongs, names)) or _NONE

    def find(self, folder: Folder) -> frozenset[str] | None:
        """Names in a folder; None if they are unknown (no permission, damaged zip)."""
        if folder not in self._known:
            names = list_names(folder)
            if names is None:
                self._known[folder] = None
            else:
                self.add(folder, names)
        return self._known[folder]


def companion_names(dump: str) -> list[str]:
    """Paths of the files that may belong to a dump, existing or not.

    >>> companion_names("run.etdp")
    ['run.debug.bin', 'run.etrecord', 'run.json', 'run.log', 'run.qhas.json', 'run.etdp.json']
    """
    stem = os.path.splitext(dump)[0]
    return [*(f"{stem}{end}" for end in _OWN_SUFFIXES), f"{dump}{MANIFEST_SUFFIX}"]


def list_names(folder: Folder) -> frozenset[str] | None:
    """Names of all files in a folder; None if unknown (no permission, damaged zip)."""
    try:
        if folder.inner is None:
            return frozenset(os.listdir(folder.path or "."))
        artifact, inner = find_artifact(folder.path, folder.inner)
        return artifact.folders.get(inner, _NONE) if artifact else None
    except (OSError, SourceError, *ZIP_FAULTS):
        return None


def _belongs(name: str) -> bool:
    # macOS adds an AppleDouble file "._NAME" for each NAME when it packs or copies files.
    return name.endswith(_OWN_SUFFIXES) and not name.startswith("._")
