"""Paths, folders, globs and zips -> the dumps in them, each once.

Problems with a given path are found when it is listed; problems with a file found below it are
raised when that file is read. Neither stops the others.

Names of files that may belong to dumps in the same folder are listed once for each folder.
"""

from __future__ import annotations

import difflib
import glob
import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import (
    DEBUG_BUFFER_SUFFIX,
    ETRECORD_SUFFIX,
    WANTED,
    WANTED_DUMPS,
    FolderFiles,
    is_dump,
    is_zip,
    kind_of,
    list_passed_over,
    may_belong,
    sort_files,
)
from tracehouse.ingest.sources.places import Folder, Source, parse_source
from tracehouse.ingest.sources.reading import ABSENT, describe_refusal, reading_errors
from tracehouse.ingest.sources.zip_artifacts import find_artifact, list_zip
from tracehouse.ingest.sources.zip_limits import ZIP_FAULTS

_NONE: frozenset[str] = frozenset()

PathLike = str | os.PathLike[str] | Source
_MOST_NAMED = 3  # bad paths in one message
_MOST_KINDS = 5  # kinds of files that are passed over, in one message


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


class Tree(NamedTuple):
    """The contents of a folder.

    Attributes:
        files: Every file, sorted, and whether it is a symlink. A folder that cannot be listed
            appears itself, with a slash at its end.
        names: Names of the entries of each visited folder.
    """

    files: dict[str, bool]
    names: dict[str, list[str]]


def walk(root: str) -> Tree:
    """The contents of a folder.

    Symlinks are followed, but each real folder is visited once, under its own name if it is below
    the root, and parents of the root are never visited.
    """
    files: dict[str, bool] = {}
    names: dict[str, list[str]] = {}
    entered = {str(folder) for folder in Path(os.path.realpath(root)).parents}
    folders, links = [root], deque[str]()
    while folders or links:
        folder = folders.pop() if folders else links.popleft()
        real = os.path.realpath(folder)
        if real in entered:
            continue
        entered.add(real)
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            files[os.path.join(folder, "")] = False
            continue
        names[folder] = [entry.name for entry in listed]
        for entry in listed:
            if not _is_folder(entry):
                files[entry.path] = entry.is_symlink()
            elif entry.is_symlink():
                links.append(entry.path)
            else:
                folders.append(entry.path)
    return Tree(dict(sorted(files.items())), names)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()  # a system call only for symlinks
    except OSError:  # a circle of symlinks
        return False


def expand_glob(pattern: str) -> list[str]:
    """Paths that match a pattern, sorted; ``**`` matches any number of folders.

    With ``**`` only files are returned. `glob` is not used then, as it follows symlink circles.
    """
    parts = pattern.split("/")
    if "**" not in parts:
        return sorted(glob.glob(pattern))
    at = parts.index("**")
    base = "/".join(parts[:at]) or ("/" if at else ".")
    return [
        file.removeprefix("./")
        for folder in sorted(glob.glob(base))
        for file in walk(folder).files
        if _matches(file.removeprefix(folder).strip("/").split("/"), parts[at:])
    ]


def describe_absence(path: str) -> str:
    """Why a path does not exist, with similar names in the last folder that does."""
    if os.path.islink(path):
        return f"links to {os.readlink(path)!r}, which does not exist"
    folder, name = os.path.split(path.rstrip("/"))
    while folder and not os.path.isdir(folder):
        folder, name = os.path.split(folder)
    try:
        near = difflib.get_close_matches(name, os.listdir(folder or "."))
    except OSError:
        near = []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "check the path"
    return f"does not exist: no {name!r} in {os.path.abspath(folder)!r}; {hint}"


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


class Listing(NamedTuple):
    """The result of `list_sources`.

    Attributes:
        found: The dumps, with an error in place of each faulty path.
        passed_over: Number of files that are neither dumps nor belong to dumps, by `kind_of`.
    """

    found: list[Source | SourceError]
    passed_over: Counter[str]


def find_sources(paths: Iterable[PathLike]) -> list[Source]:
    """Dumps at the paths, in the order of the paths and sorted by name below each, each file once.

    A path is a file of any name, a folder (searched recursively for dumps and zips by their names,
    following symlinks but never in a circle), a zip (searched likewise, and the zips in it),
    ``ZIP!MEMBER``, or a glob (``**`` matches any number of folders). A path that does not exist,
    cannot be listed or holds no dump raises SourceError. A `Source` is returned unchanged.
    """
    listed = list_sources(paths, FolderNames()).found
    for item in listed:
        if isinstance(item, SourceError):
            raise item
    return [item for item in listed if isinstance(item, Source)]


def list_sources(paths: Iterable[PathLike], names: FolderNames) -> Listing:
    """The result of `find_sources`, with an error in place of each faulty path.

    `names` receives the names in the folders that are searched.
    """
    found: dict[object, Source | SourceError] = {}
    listing = _Lister(names)
    for path in paths:
        if isinstance(path, Source):
            listed = [path]
        else:
            try:
                listed = listing.list_path(os.fspath(path))
            except SourceError as error:
                found.setdefault(str(error), error)
                continue
        for source in listed:
            found.setdefault((listing.real_path(source.path), source.member), source)
    return Listing(list(found.values()), listing.count_passed_over())


def describe_passed_over(counts: Mapping[str, int]) -> str:
    """Files that are passed over, by kind, in words; empty without any.

    >>> describe_passed_over({"*.gz": 3, "*.txt": 1})
    'passed over: 4 files (3 *.gz, 1 *.txt)'
    """
    if not counts:
        return ""
    count = sum(counts.values())
    kinds = Counter(counts).most_common()
    shown = [f"{number:,} {kind}" for kind, number in kinds[:_MOST_KINDS]]
    if left := count - sum(number for _, number in kinds[:_MOST_KINDS]):
        shown.append(f"{left:,} of other kinds")
    return f"passed over: {count:,} {'file' if count == 1 else 'files'} ({', '.join(shown)})"


def need_one(listed: list[Source | SourceError]) -> None:
    """Check that a dump was found, or that no path was given.

    Raises:
        SourceError: All paths are at fault.
    """
    faults = [item for item in listed if isinstance(item, SourceError)]
    if not faults or len(faults) < len(listed):
        return
    first, rest = faults[0], faults[1:]
    if not rest:
        raise first
    more = ", ".join(error.source for error in rest[:_MOST_NAMED])
    more += f" and {len(rest) - _MOST_NAMED:,} more" if len(rest) > _MOST_NAMED else ""
    raise SourceError(first.source, f"{first.problem}; also unusable: {more}")


class _Lister:
    """Lists paths, and caches their real paths."""

    def __init__(self, names: FolderNames) -> None:
        self._names = names
        self._passed_over: dict[str, None] = {}  # real paths, each once
        self._folders: dict[str, str] = {}
        self._is_link: dict[str, bool] = {}

    def list_path(self, path: str) -> list[Source]:
        """The dumps at a path.

        Raises:
            SourceError: The path is at fault.
        """
        try:
            mode = os.stat(path).st_mode
        except ValueError as error:  # a NUL, or half a surrogate pair
            raise SourceError(Source(path).name, f"{error}, wanted a path") from error
        except OSError as error:
            if error.errno not in ABSENT:
                raise SourceError(Source(path).name, describe_refusal(error)) from error
            member = parse_source(path)
            if member.member and os.path.isfile(member.path):
                return _list_member(member, member.member)
            if glob.has_magic(path):
                return self._list_glob(path)
            raise SourceError(Source(path).name, describe_absence(path)) from error
        if stat.S_ISDIR(mode):
            return self._list_folder(path)
        return self._list_archive(path) if is_zip(path) else [Source(path)]

    def count_passed_over(self, after: int = 0) -> Counter[str]:
        """Files that are neither dumps nor belong to dumps, by kind; the first ones left out."""
        names = islice(self._passed_over, after, None)
        return Counter(kind_of(name.rpartition("/")[2]) for name in names)

    def real_path(self, path: str) -> str:
        """The real path; resolved once per folder, not for each file listed there."""
        is_link = self._is_link.get(path)
        if is_link or (is_link is None and os.path.islink(path)):
            return os.path.realpath(path)
        name = path.rfind("/") + 1
        folder = path[:name]
        if folder not in self._folders:
            self._folders[folder] = os.path.join(os.path.realpath(folder), "")
        return self._folders[folder] + path[name:]

    def _list_folder(self, path: str) -> list[Source]:
        with reading_errors(Source(path).name):
            os.scandir(path).close()
        before = len(self._passed_over)
        sources = self._list_tree(path)
        if not sources:
            problem = f"no dumps in this folder or below, wanted {WANTED}"
            raise SourceError(Source(path).name, problem + self._describe_others(before))
        return sources

    def _list_glob(self, pattern: str) -> list[Source]:
        sources: list[Source] = []
        for path in expand_glob(pattern):
            if os.path.isdir(path):
                sources += self._list_tree(path)
            elif not may_belong(os.path.basename(path)):  # else it stands next to the dumps
                sources += self._list_file(path)
        if not sources:
            raise SourceError(Source(pattern).name, f"this glob matches no dumps, wanted {WANTED}")
        return sources

    def _list_tree(self, path: str) -> list[Source]:
        tree = walk(path)
        self._is_link.update(tree.files)
        for folder, names in tree.names.items():
            known = self._names.add(Source(os.path.join(folder, "")).folder, names)
            others = (os.path.join(folder, name) for name in list_passed_over(names, known))
            for other in filter(tree.files.__contains__, others):  # the rest are folders
                self._passed_over[self.real_path(other)] = None
        return [
            source
            for file in tree.files
            if is_dump(file) or is_zip(file) or file.endswith(os.sep)
            for source in self._list_file(file)
        ]

    def _list_file(self, path: str) -> list[Source]:
        """Sources in a file found in a folder; a bad zip becomes a source that fails when read."""
        if not is_zip(path):
            return [Source(path)]
        try:
            return self._list_members(path)
        except SourceError:
            return [Source(path, "")]

    def _list_archive(self, path: str) -> list[Source]:
        before = len(self._passed_over)
        members = self._list_members(path)
        if not members:
            problem = f"no dumps in this zip, wanted {WANTED_DUMPS}"
            raise SourceError(Source(path).name, problem + self._describe_others(before))
        return members

    def _list_members(self, path: str) -> list[Source]:
        with reading_errors(Source(path).name):
            listed = list_zip(path)
        for member in listed.passed_over:
            self._passed_over[f"{self.real_path(path)}!{member}"] = None
        return [Source(path, member) for member in listed.dumps]

    def _describe_others(self, before: int) -> str:
        """The files that were passed over since there were so many, as the end of a message."""
        others = describe_passed_over(self.count_passed_over(before))
        return f"; {others}" if others else ""


def _list_member(source: Source, member: str) -> list[Source]:
    """The named member, or the dumps in it if it is itself a zip.

    Raises:
        SourceError: The member does not exist, or is a zip without dumps.
    """
    with reading_errors(source.name):
        known = list_zip(source.path).dumps
    inside = [Source(source.path, name) for name in known if name.startswith(f"{member}!")]
    if inside:
        return inside
    if not _has_member(source, member):
        near = difflib.get_close_matches(member, known)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise SourceError(source.name, f"does not exist: no such member in the zip{hint}")
    if is_zip(member):
        raise SourceError(source.name, f"no dumps in this zip, wanted {WANTED_DUMPS}")
    return [source]


def _has_member(source: Source, member: str) -> bool:
    with reading_errors(source.name):
        artifact, rest = find_artifact(source.path, member)
        return artifact is not None and rest in artifact
