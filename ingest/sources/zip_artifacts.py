"""Zips of dumps: their members and the members' bytes, within limits.

A zip inside a zip is opened, too, but no deeper. The inflated size of all dumps and zips in a zip
is limited by the size of the zip on disk.
"""

from __future__ import annotations

import io
import os
import weakref
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from typing import IO, NamedTuple

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import (
    is_companion,
    is_dump,
    is_zip,
    list_passed_over,
    packing_of,
    sort_files,
)
from tracehouse.ingest.sources.places import Source, plain_member, split_zip
from tracehouse.ingest.sources.private_bytes import gather, most_inflated, read_declared_bytes
from tracehouse.ingest.sources.zip_limits import (
    ENCRYPTED,
    MAX_MEMBER_BYTES,
    MAX_MEMBERS,
    ZIP_FAULTS,
    DirectoryError,
    MemoryFile,
    explain_bad_zip,
    open_zip,
    packing_problem,
)

MAX_MEMBER_DEPTH = 100
_PIECE_BYTES = 1 << 20  # inflated at a time, of a member whose end is wanted

_REMEDY = "unpack it and ingest the folder"
_UNPACK = "unpack the zip and ingest the folder"


class Artifact:
    """An open zip; reading a damaged one raises one of ZIP_FAULTS."""

    def __init__(
        self, file: io.RawIOBase, name: str, zip_bytes: int, outer: Artifact | None = None
    ) -> None:
        """Read the zip's directory; `outer` is the zip that it is in.

        Raises:
            SourceError: The zip exceeds a limit.
        """
        self.zip_bytes = zip_bytes
        self._name = name
        try:
            self._archive, opened = open_zip(file)
        except DirectoryError as error:
            what = {"bytes": "has a directory of", "members": "has"}[error.unit]
            problem = f"{what} {error}; {_REMEDY}"
            raise SourceError(name, problem, reason="too_large") from error
        self._file = opened
        self._finalizer = weakref.finalize(self, opened.close)
        self._unpacked_bytes: dict[str, int] = {}  # sizes of packed dumps and companions
        members = [(plain_member(info.filename), info) for info in self._archive.filelist]
        self._infos = {member: info for member, info in members if not member.endswith("/")}
        counts = Counter(member for member, _ in members)
        self._repeated = {member: count for member, count in counts.items() if count > 1}
        self.dumps = sorted(filter(is_dump, self._infos))
        self.zips = sorted(filter(is_zip, self._infos))
        self._charged = {*self.dumps, *self.zips}  # names whose inflated size is checked
        own = Allowance(most_inflated(zip_bytes), "bytes")
        self._companions: Allowance = outer._companions if outer else own
        if any(name.count("/") > MAX_MEMBER_DEPTH for name in self.dumps):
            raise SourceError(name, f"folders nested more than {MAX_MEMBER_DEPTH} deep")
        check_inflation(name, self.inflated_bytes, zip_bytes)

    @cached_property
    def inflated_bytes(self) -> int:
        """The declared size of its dumps and zips; members may share bytes of the zip."""
        return sum(
            self.size_of(name)
            for name in (*self.dumps, *self.zips)
            if not _member_problem(self._infos[name], MAX_MEMBER_BYTES)
        )

    @cached_property
    def folders(self) -> dict[str, frozenset[str]]:
        """Names of the files in each folder; '' is the top."""
        folders: dict[str, set[str]] = {}
        for name in self._infos:
            folder, _, file = name.rpartition("/")
            folders.setdefault(folder, set()).add(file)
        return {folder: frozenset(files) for folder, files in folders.items()}

    def list_passed_over(self) -> list[str]:
        """Names of the files that are neither dumps nor zips nor belong to dumps."""
        return [
            f"{folder}/{name}".lstrip("/")
            for folder, files in self.folders.items()
            for name in list_passed_over(sorted(files), sort_files(files))
        ]

    def __contains__(self, member: str) -> bool:
        return member in self._infos

    def size_of(self, member: str) -> int:
        """Declared size of a member, unpacked if it is packed; 0 without the member."""
        info = self._infos.get(member)
        if info is None:
            return 0
        is_read = is_dump(member) or is_companion(member.rpartition("/")[2])
        packing = packing_of(member) if is_read else None
        if packing is None or _member_problem(info, MAX_MEMBER_BYTES):
            return info.file_size
        if member not in self._unpacked_bytes:
            self._unpacked_bytes[member] = self._count_unpacked(info, packing)
        return self._unpacked_bytes[member]

    def _count_unpacked(self, info: zipfile.ZipInfo, packing: str) -> int:
        """The size that a packed member states; its own size if it cannot be read."""
        try:
            with self._archive.open(info) as stream:
                read = partial(_read_at, stream)
                return read_declared_bytes(read, info.file_size, packing, free_bytes=0)
        except ZIP_FAULTS:
            return info.file_size

    def read(self, member: str, name: str, most_bytes: int) -> bytes | memoryview | None:
        """The bytes of a member as `gather` returns them; None without the member.

        Raises:
            SourceError: Two members have this name, or the member is encrypted, neither stored nor
                deflated, too large, or would inflate too much.
            BadZipFile: The zip is damaged; this is one of ZIP_FAULTS.
        """
        info = self._find(member, name, most_bytes)
        if info is None:
            return None
        with self._open_member(info) as stream:
            return gather(stream.read, info.file_size, name)

    def read_end(self, member: str, name: str, most_bytes: int) -> bytes | None:
        """The last bytes of a member; None without the member.

        Raises:
            SourceError: As for `read`, but the member may be larger.
        """
        info = self._find(member, name, MAX_MEMBER_BYTES)
        if info is None:
            return None
        end, left = bytearray(), info.file_size
        with self._open_member(info) as stream:
            while left and (piece := stream.read(min(_PIECE_BYTES, left))):
                left -= len(piece)
                end += piece
                if len(end) > 2 * most_bytes:
                    del end[:-most_bytes]
        return bytes(end[-most_bytes:])

    def _find(self, member: str, name: str, most_bytes: int) -> zipfile.ZipInfo | None:
        """The member, which may be read; None if there is none.

        Raises:
            SourceError: It may not be read.
        """
        info = self._infos.get(member)
        if info is None:
            return None
        count = self._repeated.get(member)
        if count:
            problem = f"the zip has {count:,} members of this name; repack it without duplicates"
            raise SourceError(name, problem, reason="duplicate_member")
        refusal = _member_problem(info, min(most_bytes, MAX_MEMBER_BYTES))
        if refusal:
            raise SourceError(name, refusal)
        self._charge(member, self.size_of(member), name)
        return info

    @contextmanager
    def _open_member(self, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        """A member that is read; a damaged zip raises the fault of its file."""
        try:
            with self._archive.open(info) as stream:
                yield stream
        except zipfile.BadZipFile as error:
            fault = explain_bad_zip(self._file, error)
            raise fault from error

    def _charge(self, member: str, size: int, name: str) -> None:
        """Charge the size of a companion or manifest when it is read first.

        Raises:
            SourceError: Those read so far are too large together; they may share bytes of the zip.
        """
        if member in self._charged:
            return
        try:
            self._companions.take(size)
        except AllowanceError as error:
            problem = f"companions and manifests of its zip {error} inflated; {_UNPACK}"
            raise SourceError(name, problem, reason="too_large") from error
        self._charged.add(member)


def check_inflation(name: str, wanted: int, zip_bytes: int) -> None:
    """Check the inflated size of the dumps and zips in a zip.

    Raises:
        SourceError: The size exceeds the limit.
    """
    allowed = most_inflated(zip_bytes)
    if wanted > allowed:
        problem = (
            f"its dumps would inflate from {zip_bytes:,} to {wanted:,} bytes, "
            f"wanted at most {allowed:,}; if they are genuine, {_REMEDY}"
        )
        raise SourceError(name, problem, reason="too_large")


class ZipListing(NamedTuple):
    """The contents of a zip.

    Attributes:
        dumps: Names of its dumps, and of those in the zips inside it, sorted; an inner zip that
            cannot be listed appears as ``INNER.zip!``.
        passed_over: Names of the other files that do not belong to dumps.
    """

    dumps: list[str]
    passed_over: list[str]


def list_zip(path: str) -> ZipListing:
    """The dumps in the zip at a path, and what is passed over there.

    Raises:
        SourceError: The dumps would inflate too much, or are too many.
    """
    artifact = open_artifact(path)
    name, found = Source(path).name, list(artifact.dumps)
    passed_over = artifact.list_passed_over()
    wanted, count = artifact.inflated_bytes, len(artifact.dumps)
    for inner in artifact.zips:
        try:
            opened = open_artifact(path, inner)
        except (SourceError, *ZIP_FAULTS):
            found.append(f"{inner}!")
            continue
        wanted, count = wanted + opened.inflated_bytes, count + len(opened.dumps)
        check_inflation(name, wanted, artifact.zip_bytes)
        if count > MAX_MEMBERS:
            problem = f"has more than {MAX_MEMBERS:,} dumps in its zips; {_REMEDY}"
            raise SourceError(name, problem, reason="too_large")
        found += [f"{inner}!{dump}" for dump in (*opened.dumps, *opened.zips)]
        passed_over += [f"{inner}!{other}" for other in opened.list_passed_over()]
    return ZipListing(sorted(found), passed_over)


def read_member(source: Source, member: str, most_bytes: int) -> bytes | memoryview | None:
    """The bytes of a member of a zip or of a zip inside it; None without the member.

    Raises:
        SourceError: The member exceeds a limit, or zips are nested too deeply.
    """
    artifact, rest = find_artifact(source.path, member)
    if rest and artifact is not None and member != rest and is_zip(split_zip(rest)[0] or rest):
        problem = f"zips are nested more than 2 deep; {_UNPACK}"
        raise SourceError(source.name, problem, reason="nested")
    return artifact.read(rest, source.name, most_bytes) if artifact else None


def find_artifact(path: str, member: str) -> tuple[Artifact | None, str]:
    """The zip that contains a member (None if none does), and the member's name in it."""
    artifact = open_artifact(path)
    inner, rest = split_zip(member)
    if inner is None or member in artifact:
        return artifact, member
    return (open_artifact(path, inner) if inner in artifact else None), rest


def open_artifact(path: str, inner: str | None = None) -> Artifact:
    """The zip at a path in its present state, or a zip inside it; the last few stay open."""
    status = os.stat(path)
    version = status.st_mtime_ns, status.st_size, status.st_ino
    return _keep_artifact(path, inner, version, os.getpid())


@lru_cache(maxsize=4)
def _keep_artifact(
    path: str, inner: str | None, version: tuple[int, ...], process: int
) -> Artifact:
    """An open zip; the last few are cached, as opening one reads its whole directory.

    The key distinguishes a replaced zip from the old one, and a forked process from its parent,
    with which it would share the file position.

    Raises:
        SourceError: The inner zip is gone, or cannot be read.
    """
    if inner is None:
        return Artifact(io.FileIO(path), Source(path).name, version[1])
    name = Source(path, inner).name
    outer = _keep_artifact(path, None, version, process)
    data = outer.read(inner, name, MAX_MEMBER_BYTES)
    if data is None:
        raise SourceError(name, "does not exist (any more); check the path")
    return Artifact(MemoryFile(data), name, len(data), outer)


def _read_at(stream: IO[bytes], start: int, count: int) -> bytes:
    stream.seek(start)
    return stream.read(count)


def _member_problem(info: zipfile.ZipInfo, most_bytes: int) -> str | None:
    problem = packing_problem(info)
    if problem == ENCRYPTED:
        return f"{problem}; {_UNPACK}"
    if problem:
        return f"{problem}, wanted stored or deflated: {_UNPACK}"
    if info.file_size > most_bytes:
        return f"would inflate to {info.file_size:,} bytes, wanted at most {most_bytes:,}"
    allowed = most_inflated(info.compress_size)
    if info.file_size > allowed:
        return (
            f"would inflate from {info.compress_size:,} to {info.file_size:,} bytes, "
            f"wanted at most {allowed:,}; if it is genuine, {_UNPACK}"
        )
    return None
