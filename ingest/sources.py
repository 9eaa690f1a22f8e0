"""Paths, folders, globs and zip artifacts as named bytes: what ingest reads from disk.

Whatever is wrong with a path somebody named is raised when it is listed; whatever is wrong with
one file found below it is raised when that file is read, so that it never stops the others.
"""

from __future__ import annotations

import errno
import glob
import mmap
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ingest.errors import SourceError
from ingest.file_tree import describe_absence, expand_glob, walk

DUMP_SUFFIXES = (".etdp", ".etdump", ".prof")
_WANTED = "*.etdp, *.etdump, *.prof or *.zip"
_WANTED_MEMBERS = "*.etdp, *.etdump or *.prof"

MAP_FROM_BYTES = 8 << 20
MAX_MEMBER_BYTES = 4 << 30
MAX_MEMBER_DEPTH = 100
MAX_INFLATION = 250
INFLATION_FREE_BYTES = 64 << 20

_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)


class Source(NamedTuple):
    """A file to read: a local path, or a member of the zip at that path."""

    path: str
    member: str | None = None

    @property
    def name(self) -> str:
        """The text shown to people, ``run.etdp`` or ``a.zip!inner/run.etdp``; always Unicode."""
        text = f"{self.path}!{self.member}" if self.member else self.path
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

    @property
    def file_name(self) -> str:
        """The last part of the path."""
        return (self.member or self.path).rpartition("/")[2]

    @property
    def folder(self) -> Folder:
        """The folder that holds the file."""
        if self.member is None:
            head, slash, _ = self.path.rpartition("/")
            return Folder(head.rstrip("/") or slash)
        return Folder(self.path, self.member.rpartition("/")[0])

    @property
    def place(self) -> str:
        """The absolute path with ``/``; a zip counts as a folder named without its suffix."""
        path = os.path.abspath(self.path).replace(os.sep, "/")
        return path if self.member is None else f"{os.path.splitext(path)[0]}/{self.member}"


class Folder(NamedTuple):
    """A local folder, or a folder inside the zip at that path ('' is the zip's top)."""

    path: str
    inner: str | None = None

    @property
    def parent(self) -> Folder | None:
        """The folder above, a zip's top lying in the zip's folder; None at the root."""
        if self.inner:
            return Folder(self.path, self.inner.rpartition("/")[0])
        path = os.path.abspath(self.path)
        above = os.path.dirname(path)
        return Folder(above) if above != path else None

    def file(self, name: str) -> Source:
        """The file of that name in this folder, whether it exists or not."""
        if self.inner is None:
            return Source(os.path.join(self.path, name))
        return Source(self.path, f"{self.inner}/{name}" if self.inner else name)


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
            return _list_members(_open_archive(folder.path)).get(folder.inner, frozenset())
        return frozenset(os.listdir(folder.path or "."))
    except (OSError, *_ZIP_FAULTS):
        return None


def read_source(source: Source) -> bytes | memoryview:
    """The bytes of a source.

    A local file of at least MAP_FROM_BYTES is a read-only memoryview of a memory map instead: it
    costs no memory until it is used, and must not be truncated by others while it is.

    Raises:
        SourceError: if the file is gone, not a regular file or unreadable, or the zip is damaged,
            encrypted or would inflate beyond reason.
    """
    data = read_if_present(source)
    if data is None:
        raise SourceError(source.name, "does not exist (any more)")
    return data


def read_if_present(source: Source) -> bytes | memoryview | None:
    """The bytes of a source as `read_source` gives them, or None if there is no such file.

    Raises:
        SourceError: if the file is there, but cannot be read.
    """
    try:
        if source.member is None:
            return _read_file(source)
        return _read_member(source, source.member)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise SourceError(source.name, _describe_refusal(error)) from error
    except _ZIP_FAULTS as error:
        raise SourceError(source.name, f"damaged zip: {error}") from error


def _read_file(source: Source) -> bytes | memoryview:
    file = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # wait for no pipe
    try:
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            raise SourceError(source.name, "is a folder, wanted a file")
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(source.name, "is not a regular file; copy its contents into one")
        if status.st_size >= MAP_FROM_BYTES:
            return memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))
        return _read_to_end(file, status.st_size)
    finally:
        os.close(file)


def _read_to_end(file: int, expected: int) -> bytes:
    data = os.read(file, expected + 1)
    while len(data) != expected and (more := os.read(file, MAP_FROM_BYTES)):
        data += more
    return data


def _read_member(source: Source, member: str) -> bytes | None:
    archive = _open_archive(source.path)
    if member not in archive.NameToInfo:
        return None
    info = archive.getinfo(member)
    problem = _member_problem(info)
    if problem:
        raise SourceError(source.name, problem)
    with archive.open(info) as stream:
        return stream.read(info.file_size + 1)


def _member_problem(info: zipfile.ZipInfo) -> str | None:
    if info.flag_bits & 0x1:
        return "is encrypted; unpack the zip and ingest the folder"
    # Only deflate can be inflated in bounds: zipfile expands bzip2 and LZMA without a limit.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed by zip method {info.compress_type}, wanted stored or deflated"
    if info.file_size > MAX_MEMBER_BYTES:
        return f"would inflate to {info.file_size:,} bytes, wanted at most {MAX_MEMBER_BYTES:,}"
    allowed = max(INFLATION_FREE_BYTES, MAX_INFLATION * info.compress_size)
    if info.file_size > allowed:
        return (
            f"would inflate from {info.compress_size:,} to {info.file_size:,} bytes, "
            f"wanted at most {allowed:,}; if it is genuine, unpack the zip and ingest the folder"
        )
    return None


def _open_archive(path: str) -> zipfile.ZipFile:
    status = os.stat(path)
    return _keep_archive(path, (status.st_mtime_ns, status.st_size, status.st_ino), os.getpid())


@lru_cache(maxsize=4)
def _keep_archive(path: str, version: tuple[int, ...], process: int) -> zipfile.ZipFile:
    """Keep the last few archives open, or each member would cost a reading of the directory.

    The key tells a replaced zip from the old one, and a forked process from its parent, with
    which it would share the file position.
    """
    return zipfile.ZipFile(path)


@lru_cache(maxsize=4)
def _list_members(archive: zipfile.ZipFile) -> dict[str, frozenset[str]]:
    """Names of the files in each folder of a zip."""
    folders: dict[str, set[str]] = {}
    for name in archive.NameToInfo:
        folder, _, file = name.rpartition("/")
        folders.setdefault(folder, set()).add(file)
    return {folder: frozenset(files) for folder, files in folders.items()}


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
        if _is_dump(file) or _has_suffix(file, ".zip", os.sep)
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
        members = sorted(name for name in _open_archive(path).NameToInfo if _is_dump(name))
    except OSError as error:
        raise SourceError(Source(path).name, _describe_refusal(error)) from error
    except _ZIP_FAULTS as error:
        raise SourceError(Source(path).name, f"damaged zip: {error}") from error
    if any(name.count("/") > MAX_MEMBER_DEPTH for name in members):
        raise SourceError(Source(path).name, f"folders nested more than {MAX_MEMBER_DEPTH} deep")
    return [Source(path, member) for member in members]


def _is_dump(path: str) -> bool:
    # macOS puts an AppleDouble file "._NAME" beside each NAME when it packs or copies.
    return _has_suffix(path, *DUMP_SUFFIXES) and not path.rpartition("/")[2].startswith("._")


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
