"""A dump to ingest, from any producer and for any consumer; dumps found at paths; and refusals.

Dumps found at paths are created lazily, with their manifests and companions.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, NoReturn, final

from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.resolver import ManifestResolver
from tracehouse.ingest.manifest.sidecars import SidecarParser
from tracehouse.ingest.sources.listing import CompanionFinder, FolderNames, list_sources, need_one
from tracehouse.ingest.sources.places import Source, top_of
from tracehouse.ingest.sources.reading import (
    MAX_FILE_BYTES,
    count_unpacked_bytes,
    read_dump_bytes,
    read_source,
)

Bytes = bytes | memoryview

NOW = datetime.max.replace(tzinfo=UTC)  # stands for the time of the transaction

AnyPath = str | os.PathLike[str] | Source


class HashedFile(NamedTuple):
    """A file that was read: its name, its bytes and their SHA-256."""

    name: str
    data: Bytes
    sha256: str

    @classmethod
    def of(cls, name: str, data: Bytes) -> HashedFile:
        """The file of these bytes, which are hashed."""
        return cls(name, data, hashlib.sha256(data).hexdigest())


@final
@dataclass(frozen=True)
class Companion:
    """A file that comes with a dump.

    Attributes:
        name: Name of the file in messages and in the store.
        read: Returns the bytes, which no longer change, or raises SourceError.
        byte_count: Its size; 0 if the size is not known.
        key: Companions with the same key have the same bytes, so one read is enough.
    """

    name: str
    read: Callable[[], Bytes] = field(compare=False)
    byte_count: int = field(default=0, compare=False)
    key: Hashable = field(default_factory=object)

    def read_hashed(self) -> HashedFile:
        """The bytes with their SHA-256; errors are those of `read`."""
        return HashedFile.of(self.name, self.read())


@dataclass(frozen=True)
class Dump:
    """A dump with its manifest and companions.

    Attributes:
        name: Name of the dump in messages and in the store.
        read: Returns the bytes, which no longer change, or raises SourceError.
        manifest: Returns its manifest, or raises ManifestError or SourceError.
        byte_count: Size of the dump; 0 if the size is not known.
        etrecord: The ETRecord of its program, if it comes with one.
        debug_buffer: Its debug buffer, if it comes with one.
        sha256: SHA-256 of the dump, if its bytes are already known to match.
    """

    name: str
    read: Callable[[], Bytes]
    manifest: Callable[[], Manifest]
    byte_count: int = 0
    etrecord: Companion | None = None
    debug_buffer: Companion | None = None
    sha256: str | None = None

    @classmethod
    def of_bytes(
        cls,
        name: str,
        data: Bytes,
        manifest: Manifest,
        *,
        etrecord: Bytes | None = None,
        debug_buffer: Bytes | None = None,
    ) -> Dump:
        """A dump that is in memory, with its manifest and companions."""
        return cls(
            name,
            lambda: data,
            lambda: manifest,
            len(data),
            _in_memory(f"{name}: ETRecord", etrecord),
            _in_memory(f"{name}: debug buffer", debug_buffer),
        )

    @classmethod
    def unreadable(cls, error: SourceError) -> Dump:
        """A stand-in for a dump that cannot be read, so that its refusal is recorded."""
        return cls(error.source, partial(_fail, error), partial(_fail, error))

    def renamed(self, rename: Callable[[str], str]) -> Dump:
        """The dump with other names for it and its companions."""
        record, buffer = self.etrecord, self.debug_buffer
        return replace(
            self,
            name=rename(self.name),
            etrecord=record and replace(record, name=rename(record.name)),
            debug_buffer=buffer and replace(buffer, name=rename(buffer.name)),
        )

    def read_hashed(self) -> HashedFile:
        """The dump's bytes with their SHA-256; errors are those of `read`."""
        data = self.read()
        return (
            HashedFile(self.name, data, self.sha256)
            if self.sha256
            else HashedFile.of(self.name, data)
        )


class Refusal(NamedTuple):
    """A file that was refused.

    Attributes:
        source: Name of the file at its origin.
        sha256: SHA-256 of its bytes; None if they could not be read.
        reason: Why it was refused, machine-readable.
        byte_offset: Offset of the fault in the file; None if there is no single place.
        detail: The reason in words.
        data: The bytes, for the archive; None if unreadable or already archived.
        refused_at: When it was refused; NOW for a new refusal.
        manifest: Manifest of the dump, as canonical JSON; None if it is not known.
    """

    source: str
    sha256: str | None
    reason: str
    byte_offset: int | None
    detail: str
    data: Any = None
    refused_at: datetime = NOW
    manifest: str | None = None

    @classmethod
    def of_error(cls, name: str, error: ManifestError | SourceError) -> Refusal:
        """The refusal of a file that cannot be read, or of a dump without a valid manifest."""
        return cls(name, None, error.reason, None, describe_problem(error, name))


def describe_problem(error: Any, name: str) -> str:
    """The message of an ingest error; without the file's name if that is `name`."""
    return str(error.problem) if error.source == name else str(error)


def _in_memory(name: str, data: Bytes | None) -> Companion | None:
    return None if data is None else Companion(name, lambda: data, len(data))


def _fail(error: SourceError) -> NoReturn:
    raise error


class FoundDumps:
    """The dumps at some paths: a sized iterable that creates each dump when it is reached.

    Attributes:
        passed_over: Number of other files in folders and zips that do not belong to dumps, by kind.
    """

    def __init__(
        self,
        paths: Iterable[AnyPath],
        *,
        manifest: Mapping[str, object] | None = None,
        layout: str | None = None,
        etrecord: Source | None = None,
        tops: Collection[str] | None = None,
        names: FolderNames | None = None,
    ) -> None:
        """List the dumps.

        Args:
            paths: Files, folders, zip artifacts, ``ZIP!MEMBER`` and globs, or sources.
            manifest: Fields that hold for all dumps; they override manifest files.
            layout: Template of paths, e.g. ``{device}/{build}/{model}/*.etdp``.
            etrecord: ETRecord of all dumps; by default, each dump's own is looked up.
            tops: Folders above which no manifest.json is read; without any, only those in zips are
                read. By default, see `top_of`.
            names: Folders that are listed already; others are listed when needed.

        Raises:
            SourceError: All of the paths are at fault. If only some are, each becomes a dump that
                cannot be read.
            ManifestError: The fields or the template are malformed.
        """
        names, paths = names or FolderNames(), list(paths)
        tops = {top_of(path) for path in paths} if tops is None else tops
        self._resolver = ManifestResolver(overrides=manifest, layout=layout, names=names, tops=tops)
        self._companions = CompanionFinder(etrecord, names=names)
        self._listed, self.passed_over = list_sources(paths, names)
        need_one(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[Dump]:
        return map(self._make_dump, self._listed)

    def parse_with(self, parse: SidecarParser) -> FoundDumps:
        """These dumps, whose sidecars a function parses."""
        self._resolver.parse = parse
        return self

    @property
    def notes(self) -> list[str]:
        """Oddities of the manifests read so far, as sentences."""
        doubts = [
            f"{first}{f' and {count - 1:,} more' if count > 1 else ''}: {doubt}"
            for doubt, (first, count) in self._resolver.doubts.items()
        ]
        return [*self._resolver.notes, *doubts]

    def _make_dump(self, listed: Source | SourceError) -> Dump:
        if isinstance(listed, SourceError):
            return Dump.unreadable(listed)
        companions = self._companions.find(listed)
        buffer = companions.debug_buffer
        return Dump(
            listed.name,
            partial(read_dump_bytes, listed),
            partial(self._resolver.resolve, listed),
            count_unpacked_bytes(listed),
            None if companions.etrecord is None else file_at(companions.etrecord),
            None if buffer is None else file_at(buffer, byte_count=count_unpacked_bytes(buffer)),
        )


def file_at(source: Source, *, byte_count: int = 0) -> Companion:
    """The source as a companion."""
    read = partial(read_source, source, most_bytes=MAX_FILE_BYTES)
    return Companion(source.name, read, byte_count, source)


def find_dumps(
    dumps: AnyPath | Dump | Iterable[AnyPath] | FoundDumps | Sequence[Dump],
    *,
    manifest: Mapping[str, object] | None = None,
    layout: str | None = None,
    etrecord: AnyPath | None = None,
) -> FoundDumps | list[Dump]:
    """The dumps to ingest: paths, or one, are searched for dumps; dumps are returned unchanged.

    Raises:
        TypeError: `dumps` mixes paths and dumps.
    """
    if isinstance(dumps, FoundDumps):
        return dumps
    listed = [dumps] if isinstance(dumps, str | os.PathLike | Source | Dump) else list(dumps)
    ready = [dump for dump in listed if isinstance(dump, Dump)]
    paths = [path for path in listed if not isinstance(path, Dump)]
    if ready and paths:
        raise TypeError("found paths and dumps together, wanted either")
    if ready:
        return ready
    record = etrecord if isinstance(etrecord, Source | None) else Source(os.fspath(etrecord))
    return FoundDumps(paths, manifest=manifest, layout=layout, etrecord=record)
