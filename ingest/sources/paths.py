"""Paths, folders, globs and zip artifacts as named bytes: what ingest reads from disk.

Whatever is wrong with a path somebody named is raised when it is listed; whatever is wrong with
one file found below it is raised when that file is read, so that it never stops the others.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Iterable

from ingest.errors import SourceError
from ingest.sources.file_tree import describe_absence, expand_glob, walk
from ingest.sources.places import Folder, Source
from ingest.sources.private_bytes import read_file
from ingest.sources.zip_artifacts import (
    INFLATION_FREE_BYTES,
    MAX_INFLATION,
    MAX_MEMBER_BYTES,
    ZIP_FAULTS,
    is_dump,
    open_artifact,
)

__all__ = [
    "INFLATION_FREE_BYTES",
    "MAX_DUMP_BYTES",
    "MAX_INFLATION",
    "MAX_MEMBER_BYTES",
    "Folder",
    "Source",
    "count_bytes",
    "find_sources",
    "list_names",
    "read_if_present",
    "read_source",
]

MAX_DUMP_BYTES = 2 << 30  # beyond what a FlatBuffers file can be
MAX_FILE_BYTES = 4 << 30  # of what comes with a dump: ETRecords, debug buffers

_WANTED = "*.etdp, *.etdump, *.prof or *.zip"
_WANTED_MEMBERS = "*.etdp, *.etdump or *.prof"
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


def find_sources(paths: Iterable[str | os.PathLike[str] | Source]) -> list[Source]:
    """Dumps at the paths: in the order of the paths, sorted by name below each, each file once.

    A path is a file of any name, a folder (searched recursively for *.etdp, *.etdump, *.prof and
    *.zip, following symlinks but never in a circle), a *.zip (such members of it) or a glob that
    the shell left alone (``**`` matches any number of folders). A path that does not exist, cannot
    be listed or holds no dump raises SourceError. A source stands for itself.
    """
    found: dict[tuple[str, str | None], Source] = {}
    real_paths = _RealPaths()
    for path in paths:
        listed = [path] if isinstance(path, Source) else _list_path(os.fspath(path), real_paths)
        for source in listed:
            found.setdefault((real_paths.find(source.path), source.member), source)
    return list(found.values())


def list_names(folder: Folder) -> frozenset[str] | None:
    """Names of what is in a folder; None where that is not known (no permission, damaged zip)."""
    try:
        if folder.inner is not None:
            return open_artifact(folder.path).folders.get(folder.inner, frozenset())
        return frozenset(os.listdir(folder.path or "."))
    except (OSError, SourceError, *ZIP_FAULTS):
        return None


def count_bytes(source: Source) -> int:
    """Size of a source as its folder or zip states it; 0 where that is not known."""
    try:
        if source.member is None:
            return os.stat(source.path).st_size
        return open_artifact(source.path).size_of(source.member)
    except (OSError, SourceError, *ZIP_FAULTS):
        return 0


def read_source(source: Source, *, most_bytes: int = MAX_FILE_BYTES) -> bytes | memoryview:
    """The bytes of a source, which nothing that happens to the file can change any more.

    A large file is copied while it is read, and comes as a memory map of the copy.

    Args:
        source: What to read.
        most_bytes: Size beyond which it is refused before it is read.

    Raises:
        SourceError: if the file is gone, not a regular file, too large or unreadable, or changed
            while it was read, or the zip is damaged, encrypted or would inflate beyond reason.
    """
    data = read_if_present(source, most_bytes=most_bytes)
    if data is None:
        raise SourceError(source.name, "does not exist (any more)")
    return data


def read_if_present(
    source: Source, *, most_bytes: int = MAX_FILE_BYTES
) -> bytes | memoryview | None:
    """The bytes of a source as `read_source` gives them, or None if there is no such file.

    Raises:
        SourceError: if the file is there, but cannot be read.
    """
    try:
        if source.member is None:
            return read_file(source.path, source.name, most_bytes=most_bytes)
        return open_artifact(source.path).read(source, source.member, most_bytes)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise SourceError(source.name, _describe_refusal(error)) from error
    except ZIP_FAULTS as error:
        raise SourceError(source.name, f"damaged zip: {error}") from error


def _list_path(path: str, real_paths: _RealPaths) -> list[Source]:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        if error.errno not in _ABSENT:
            raise SourceError(Source(path).name, _describe_refusal(error)) from error
        if glob.has_magic(path):
            return _list_glob(path, real_paths)
        raise SourceError(Source(path).name, describe_absence(path)) from error
    if stat.S_ISDIR(mode):
        return _list_folder(path, real_paths)
    if not _has_suffix(path, ".zip"):
        return [Source(path)]
    members = _list_archive(path)
    if not members:
        raise SourceError(Source(path).name, f"no dumps in this zip, wanted {_WANTED_MEMBERS}")
    return members


def _list_folder(path: str, real_paths: _RealPaths) -> list[Source]:
    try:
        os.scandir(path).close()
    except OSError as error:
        raise SourceError(Source(path).name, _describe_refusal(error)) from error
    sources = _list_tree(path, real_paths)
    if not sources:
        raise SourceError(Source(path).name, f"no dumps in this folder or below, wanted {_WANTED}")
    return sources


def _list_glob(pattern: str, real_paths: _RealPaths) -> list[Source]:
    sources: list[Source] = []
    for path in expand_glob(pattern):
        if os.path.isdir(path):
            sources += _list_tree(path, real_paths)
        elif not _has_suffix(path, ".json"):  # a manifest beside the dumps
            sources += _list_file(path)
    if not sources:
        raise SourceError(Source(pattern).name, f"this glob matches no dumps, wanted {_WANTED}")
    return sources


def _list_tree(path: str, real_paths: _RealPaths) -> list[Source]:
    files = walk(path)
    real_paths.add_files(files)
    return [
        source
        for file in files
        if is_dump(file) or _has_suffix(file, ".zip", os.sep)
        for source in _list_file(file)
    ]


def _list_file(path: str) -> list[Source]:
    """Sources of a file nobody named: a bad zip becomes a source whose reading says why."""
    if not _has_suffix(path, ".zip"):
        return [Source(path)]
    try:
        return _list_archive(path)
    except SourceError:
        return [Source(path, "")]


def _list_archive(path: str) -> list[Source]:
    try:
        return [Source(path, member) for member in open_artifact(path).dumps]
    except OSError as error:
        raise SourceError(Source(path).name, _describe_refusal(error)) from error
    except ZIP_FAULTS as error:
        raise SourceError(Source(path).name, f"damaged zip: {error}") from error


def _has_suffix(path: str, *suffixes: str) -> bool:
    return path.lower().endswith(suffixes)


def _describe_refusal(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"


class _RealPaths:
    """Where paths really lead; asks the system once per folder, and never of files seen there."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._is_link: dict[str, bool] = {}

    def add_files(self, is_link: dict[str, bool]) -> None:
        """Take which files are symlinks, as `walk` tells it."""
        self._is_link.update(is_link)

    def find(self, path: str) -> str:
        is_link = self._is_link.get(path)
        if is_link or (is_link is None and os.path.islink(path)):
            return os.path.realpath(path)
        name = path.rfind("/") + 1
        folder = path[:name]
        if folder not in self._folders:
            self._folders[folder] = os.path.join(os.path.realpath(folder), "")
        return self._folders[folder] + path[name:]
