"""Zips of dumps: what is in them, and their members' bytes, never more than a zip may cost."""

from __future__ import annotations

import io
import os
import struct
import weakref
import zipfile
import zlib
from collections import Counter
from functools import cached_property, lru_cache

from ingest.errors import SourceError
from ingest.sources.places import Source
from ingest.sources.private_bytes import gather

DUMP_SUFFIXES = (".etdp", ".etdump", ".prof")

MAX_MEMBERS = 65_535  # as many as a zip has without zip64
MAX_DIRECTORY_BYTES = 16 << 20
MAX_MEMBER_BYTES = 4 << 30
MAX_MEMBER_DEPTH = 100
MAX_INFLATION = 250
INFLATION_FREE_BYTES = 64 << 20

_MEMBER_MARK = b"PK\1\2"
_REMEDY = "unpack it and ingest the folder"

ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)


def is_dump(path: str) -> bool:
    """Whether a file is a dump by its name."""
    # macOS puts an AppleDouble file "._NAME" beside each NAME when it packs or copies.
    return path.lower().endswith(DUMP_SUFFIXES) and not path.rpartition("/")[2].startswith("._")


class Artifact:
    """An open zip; reading a damaged one raises one of ZIP_FAULTS."""

    def __init__(self, path: str) -> None:
        """Read its directory; that of a zip that would cost too much raises SourceError."""
        self._name = Source(path).name
        file = _ZipFile(io.FileIO(path), self._name)
        self._finalizer = weakref.finalize(self, file.close)
        try:
            self._archive = zipfile.ZipFile(file)
            file.is_listed = True
            self._infos = self._archive.NameToInfo
            counts = Counter(info.filename for info in self._archive.filelist)
            self._repeated = {name: count for name, count in counts.items() if count > 1}
            self.dumps = sorted(filter(is_dump, self._infos))
            self._check(os.fstat(file.fileno()).st_size)
        except BaseException:
            file.close()
            raise

    @cached_property
    def folders(self) -> dict[str, frozenset[str]]:
        """Names of the files in each folder; '' is the top."""
        folders: dict[str, set[str]] = {}
        for name in self._infos:
            folder, _, file = name.rpartition("/")
            folders.setdefault(folder, set()).add(file)
        return {folder: frozenset(files) for folder, files in folders.items()}

    def size_of(self, member: str) -> int:
        """Bytes that a member says it holds, and never exceeds; 0 if there is none."""
        info = self._infos.get(member)
        return 0 if info is None else info.file_size

    def read(self, source: Source, member: str, most_bytes: int) -> bytes | memoryview | None:
        """The bytes of a member as `gather` gives them; None without it.

        Raises:
            SourceError: There are two of its name, or it is encrypted, packed in another way than
                stored or deflated, too large, or would inflate beyond reason.
        """
        info = self._infos.get(member)
        if info is None:
            return None
        count = self._repeated.get(member)
        if count:
            problem = f"the zip has {count:,} members of this name; pack it anew with one of each"
            raise SourceError(source.name, problem, reason="duplicate_member")
        refusal = _member_problem(info, min(most_bytes, MAX_MEMBER_BYTES))
        if refusal:
            raise SourceError(source.name, refusal)
        with self._archive.open(info) as stream:
            return gather(stream.read, info.file_size, source.name)

    def _check(self, zip_bytes: int) -> None:
        if any(name.count("/") > MAX_MEMBER_DEPTH for name in self.dumps):
            raise SourceError(self._name, f"folders nested more than {MAX_MEMBER_DEPTH} deep")
        infos = map(self._infos.__getitem__, self.dumps)
        wanted = sum(i.file_size for i in infos if not _member_problem(i, MAX_MEMBER_BYTES))
        allowed = max(INFLATION_FREE_BYTES, MAX_INFLATION * zip_bytes)
        if wanted > allowed:  # members may share bytes of the zip
            problem = (
                f"its dumps would inflate from {zip_bytes:,} to {wanted:,} bytes, "
                f"wanted at most {allowed:,}; if they are genuine, {_REMEDY}"
            )
            raise SourceError(self._name, problem, reason="too_large")


def open_artifact(path: str) -> Artifact:
    """The zip at a path, as it is now; the last few stay open."""
    status = os.stat(path)
    return _keep_artifact(path, (status.st_mtime_ns, status.st_size, status.st_ino), os.getpid())


@lru_cache(maxsize=4)
def _keep_artifact(path: str, version: tuple[int, ...], process: int) -> Artifact:
    """Keep the last few zips open, or each member would cost a reading of the directory.

    The key tells a replaced zip from the old one, and a forked process from its parent, with
    which it would share the file position.
    """
    return Artifact(path)


class _ZipFile(io.BufferedReader):
    """A zip's file that does not give out a directory of too many members.

    zipfile reads the directory in one piece. What a zip says of its size and count need not be
    true, so the piece itself is looked at.
    """

    def __init__(self, file: io.FileIO, name: str) -> None:
        super().__init__(file)
        self._name = name
        self.is_listed = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.is_listed:
            return super().read(size)
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise self._refusal(f"a directory of {size:,} bytes", MAX_DIRECTORY_BYTES)
        data = super().read(size)
        count = data.count(_MEMBER_MARK)
        if count > MAX_MEMBERS:
            raise self._refusal(f"{count:,} members", MAX_MEMBERS)
        return data

    def _refusal(self, found: str, most: int) -> SourceError:
        problem = f"has {found}, wanted at most {most:,}; {_REMEDY}"
        return SourceError(self._name, problem, reason="too_large")


def _member_problem(info: zipfile.ZipInfo, most_bytes: int) -> str | None:
    if info.flag_bits & 0x1:
        return "is encrypted; unpack the zip and ingest the folder"
    # Only deflate can be inflated in bounds: zipfile expands bzip2 and LZMA without a limit.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed by zip method {info.compress_type}, wanted stored or deflated"
    if info.file_size > most_bytes:
        return f"would inflate to {info.file_size:,} bytes, wanted at most {most_bytes:,}"
    allowed = max(INFLATION_FREE_BYTES, MAX_INFLATION * info.compress_size)
    if info.file_size > allowed:
        return (
            f"would inflate from {info.compress_size:,} to {info.file_size:,} bytes, "
            f"wanted at most {allowed:,}; if it is genuine, unpack the zip and ingest the folder"
        )
    return None
