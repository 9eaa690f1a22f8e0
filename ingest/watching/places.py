"""Where files appear, as a watch sees it; a folder of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NamedTuple, Protocol

from ingest.errors import SourceError
from ingest.sources.reading import describe_refusal


class WatchedFile(NamedTuple):
    """A file or folder, as it was when it was looked at; a folder has no size and no time."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    is_folder: bool = False


class WatchedPlace(Protocol):
    """A tree of folders and files."""

    @property
    def root(self) -> str:
        """The folder on top."""

    @property
    def name(self) -> str:
        """What the place is called: a path or a URI."""

    def list_folder(self, folder: str) -> Iterator[WatchedFile]:
        """What is in a folder, as it comes; nothing if it is gone.

        Raises:
            SourceError: It cannot be listed.
        """

    def look(self, path: str) -> WatchedFile | None:
        """A file as it is now; None if it is gone."""

    def local_paths(self, paths: Sequence[str]) -> AbstractContextManager[Sequence[str]]:
        """The files, and what belongs to them, at paths of this machine until the body ends.

        Raises:
            SourceError: They cannot be fetched.
        """

    def restore_paths(self, text: str) -> str:
        """A name or message about such a path, with the name of the file in its place."""


class LocalFolder:
    """A folder of this machine; folders that symlinks lead to are not entered."""

    def __init__(self, path: str) -> None:
        """Take a folder.

        Raises:
            SourceError: It is none, or cannot be listed.
        """
        self.root = self.name = os.path.abspath(path)
        try:
            os.scandir(self.root).close()
        except OSError as error:
            raise SourceError(path, describe_refusal(error)) from error

    def list_folder(self, folder: str) -> Iterator[WatchedFile]:
        """What is in a folder, as it comes; nothing if it is gone.

        Raises:
            SourceError: It cannot be listed, or is the one on top and gone.
        """
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(OSError):  # gone, or a circle of symlinks
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
        """The files where they are."""
        yield paths

    def restore_paths(self, text: str) -> str:
        """The text as it is."""
        return text


def _seen(entry: os.DirEntry[str]) -> WatchedFile:
    if entry.is_dir(follow_symlinks=False):
        return WatchedFile(entry.path, is_folder=True)
    status = entry.stat()
    return WatchedFile(entry.path, status.st_size, status.st_mtime_ns)
