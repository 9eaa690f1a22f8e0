"""Places to watch, and the local folder as one of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NamedTuple, Protocol

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import (
    ALL_FOLDER_COMPANIONS,
    FolderFiles,
    companion_names,
    sort_files,
)
from tracehouse.ingest.sources.listing import FolderNames, list_names
from tracehouse.ingest.sources.places import Folder, Source
from tracehouse.ingest.sources.reading import describe_refusal

_PAUSE = 20  # a folder is listed again after this many times its listing time


class WatchedFile(NamedTuple):
    """The observed state of a file; or a folder, which has no size and time."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    is_folder: bool = False


class WatchedPlace(Protocol):
    """A tree of folders and files."""

    @property
    def root(self) -> str:
        """The top folder."""

    @property
    def name(self) -> str:
        """The place's path or URI."""

    @property
    def local_root(self) -> str:
        """The folder of this machine with all local paths."""

    def list_folder(self, folder: str) -> Iterator[WatchedFile]:
        """The entries of a folder, in any order; none if the folder is gone.

        Raises:
            SourceError: The folder cannot be listed.
        """

    def look(self, path: str) -> WatchedFile | None:
        """A file as it is now; None if it is gone."""

    def local_paths(self, paths: Sequence[str]) -> AbstractContextManager[Sequence[str]]:
        """Local paths of the files, with their companions, which exist until the body ends.

        Raises:
            SourceError: A file cannot be fetched.
        """

    def restore_paths(self, text: str) -> str:
        """A text with such local paths replaced by paths of the place."""


class LocalFolder:
    """A local folder; symlinks to folders are not followed."""

    def __init__(self, path: str) -> None:
        """Check that the folder can be listed.

        Raises:
            SourceError: The path is no folder, or cannot be listed.
        """
        self.root = self.name = self.local_root = os.path.abspath(path)
        try:
            os.scandir(self.root).close()
        except OSError as error:
            raise SourceError(path, describe_refusal(error)) from error

    def list_folder(self, folder: str) -> Iterator[WatchedFile]:
        """The entries of a folder, in any order; none if the folder is gone.

        Raises:
            SourceError: The folder cannot be listed, or the top folder is gone.
        """
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(OSError):  # the file is gone, or symlinks form a circle
                        yield _observe(entry)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and folder != self.root:
                return
            raise SourceError(folder, describe_refusal(error)) from error

    def look(self, path: str) -> WatchedFile | None:
        """A file as it is now; None if it is gone."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return WatchedFile(path, status.st_size, status.st_mtime_ns)

    @contextmanager
    def local_paths(self, paths: Sequence[str]) -> Iterator[Sequence[str]]:
        """The paths, unchanged."""
        yield paths

    def restore_paths(self, text: str) -> str:
        """The text, unchanged."""
        return text


def _observe(entry: os.DirEntry[str]) -> WatchedFile:
    if entry.is_dir(follow_symlinks=False):
        return WatchedFile(entry.path, is_folder=True)
    status = entry.stat()
    return WatchedFile(entry.path, status.st_size, status.st_mtime_ns)


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
