"""Dumps on their way in, wherever they come from: paths, an upload, an inbox, an archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, NoReturn

from ingest.errors import SourceError
from ingest.manifest.models import Manifest
from ingest.manifest.resolver import ManifestResolver
from ingest.sources.companions import CompanionFinder
from ingest.sources.folder_names import FolderNames
from ingest.sources.listing import list_sources, need_one
from ingest.sources.paths import MAX_DUMP_BYTES, MAX_FILE_BYTES, Source, count_bytes, read_source

Bytes = bytes | memoryview


class IncomingFile(NamedTuple):
    """A file that comes with a dump.

    Two that are equal hold the same: it is read once.

    Attributes:
        name: What it is called in messages and in the store.
        read: Gives its bytes, which nothing changes any more, or raises SourceError.
        byte_count: Its size; 0 if that is not known.
    """

    name: str
    read: Callable[[], Bytes]
    byte_count: int = 0


@dataclass(frozen=True)
class Incoming:
    """A dump on its way in, and what comes with it.

    Attributes:
        name: What it is called in messages and in the store.
        read: Gives its bytes, which nothing changes any more, or raises SourceError.
        manifest: Gives what the bytes do not say, or raises ManifestError or SourceError.
        byte_count: Size of the dump; 0 if that is not known.
        etrecord: The ETRecord of its program, if it comes with one.
        debug_buffer: Its debug buffer, likewise.
        sha256: SHA-256 of the dump, if its bytes were held against that already.
    """

    name: str
    read: Callable[[], Bytes]
    manifest: Callable[[], Manifest]
    byte_count: int = 0
    etrecord: IncomingFile | None = None
    debug_buffer: IncomingFile | None = None
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
    ) -> Incoming:
        """A dump that is in memory, with its manifest and companions."""
        return cls(
            name,
            lambda: data,
            lambda: manifest,
            len(data),
            _held(f"{name}: ETRecord", etrecord),
            _held(f"{name}: debug buffer", debug_buffer),
        )


class FoundDumps:
    """The dumps at some paths: their number is known, and each is made when its turn comes."""

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str] | Source],
        *,
        manifest: Mapping[str, object] | None = None,
        layout: str | None = None,
        etrecord: Source | None = None,
        is_alone: bool = False,
        names: FolderNames | None = None,
    ) -> None:
        """List them.

        Args:
            paths: Files, folders, zip artifacts, ``ZIP!MEMBER`` and globs, or sources.
            manifest: Fields that hold for all; they override what is found beside the dumps.
            layout: Template of paths, e.g. ``{device}/{build}/{model}/*.etdp``.
            etrecord: ETRecord of all; by default what lies beside each.
            is_alone: Look for no manifest outside of the zips that they are in.
            names: What is known of the folders; they are listed as needed.

        Raises:
            SourceError: Each of the paths is at fault. One among others comes in as a dump whose
                reading says so.
            ManifestError: The fields or the template are malformed.
        """
        names = names or FolderNames()
        self._resolver = ManifestResolver(
            overrides=manifest, layout=layout, names=names, is_alone=is_alone
        )
        self._companions = CompanionFinder(etrecord, names=names)
        self._listed = list_sources(paths, names)
        need_one(self._listed)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._listed)

    def __iter__(self) -> Iterator[Incoming]:
        """Each in turn."""
        return map(self._bring, self._listed)

    @property
    def notes(self) -> list[str]:
        """What is odd about the manifests that were read so far, as sentences."""
        return list(self._resolver.notes)

    def _bring(self, listed: Source | SourceError) -> Incoming:
        if isinstance(listed, SourceError):
            return unreadable(listed)
        companions = self._companions.find(listed)
        buffer = companions.debug_buffer
        return Incoming(
            listed.name,
            _SourceReader(listed, MAX_DUMP_BYTES),
            partial(self._resolver.resolve, listed),
            count_bytes(listed),
            None if companions.etrecord is None else file_at(companions.etrecord),
            None if buffer is None else file_at(buffer, byte_count=count_bytes(buffer)),
        )


@dataclass(frozen=True)
class _SourceReader:
    """Reads a source; equal to another of the same source."""

    source: Source
    most_bytes: int = MAX_FILE_BYTES

    def __call__(self) -> Bytes:
        return read_source(self.source, most_bytes=self.most_bytes)


def file_at(source: Source, *, byte_count: int = 0) -> IncomingFile:
    """The file that a source is; its size where that matters."""
    return IncomingFile(source.name, _SourceReader(source), byte_count)


def _held(name: str, data: Bytes | None) -> IncomingFile | None:
    return None if data is None else IncomingFile(name, lambda: data, len(data))


def unreadable(error: SourceError) -> Incoming:
    """A dump that cannot be read, which is put on record: a path at fault, or a damaged log."""
    return Incoming(error.source, partial(_fail, error), partial(_fail, error))


def _fail(error: SourceError) -> NoReturn:
    raise error


def find_incoming(
    dumps: Iterable[str | os.PathLike[str] | Source] | FoundDumps | Sequence[Incoming],
    *,
    manifest: Mapping[str, object] | None = None,
    layout: str | None = None,
    etrecord: str | os.PathLike[str] | Source | None = None,
) -> FoundDumps | list[Incoming]:
    """Dumps as they come in: those at paths are looked for, others are given as they are.

    Raises:
        TypeError: There are paths and incoming dumps among them.
    """
    if isinstance(dumps, FoundDumps):
        return dumps
    listed = list(dumps)
    ready = [dump for dump in listed if isinstance(dump, Incoming)]
    paths = [path for path in listed if not isinstance(path, Incoming)]
    if ready and paths:
        raise TypeError("found paths and incoming dumps together, wanted either")
    if ready:
        return ready
    record = etrecord if isinstance(etrecord, Source | None) else Source(os.fspath(etrecord))
    return FoundDumps(paths, manifest=manifest, layout=layout, etrecord=record)
