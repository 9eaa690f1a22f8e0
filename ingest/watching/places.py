"""Places to watch, and the local folder as one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NamedTuple, Protocol

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.reading import describe_refusal


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
                        yield _seen(entry)
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


def _seen(entry: os.DirEntry[str]) -> WatchedFile:
    if entry.is_dir(follow_symlinks=False):
        return WatchedFile(entry.path, is_folder=True)
    status = entry.stat()
    return WatchedFile(entry.path, status.st_size, status.st_mtime_ns)
