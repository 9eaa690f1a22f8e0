"""Dumps found at paths, each created lazily with its manifest and companions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from tracehouse.ingest.dump import Companion, Dump
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.manifest.resolver import ManifestResolver
from tracehouse.ingest.manifest.sidecars import SidecarParser
from tracehouse.ingest.sources.folder_names import CompanionFinder, FolderNames
from tracehouse.ingest.sources.listing import list_sources, need_one
from tracehouse.ingest.sources.places import Source, top_of
from tracehouse.ingest.sources.reading import (
    MAX_FILE_BYTES,
    count_unpacked_bytes,
    read_dump_bytes,
    read_source,
)

AnyPath = str | os.PathLike[str] | Source


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
