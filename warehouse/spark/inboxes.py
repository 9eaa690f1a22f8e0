"""Dumps of an inbox, a folder or bucket: listed, and copied to the machine that reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tracehouse.ingest.dump import Dump, FoundDumps
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import WANTED, is_dump, is_zip
from tracehouse.ingest.sources.listing import FolderNames, list_sources
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.watching.buckets import Bucket
from tracehouse.ingest.watching.places import LocalFolder, WatchedFile, WatchedPlace


@dataclass(frozen=True)
class ManifestDefaults:
    """Manifest fields for all dumps of an inbox.

    Attributes:
        manifest: Fields that override manifest files.
        layout: Template of paths.
    """

    manifest: Mapping[str, object] = field(default_factory=dict)
    layout: str | None = None


def open_place(inbox: str) -> WatchedPlace:
    """The place at a path or URI.

    Raises:
        SourceError: The place cannot be listed.
    """
    return Bucket(inbox) if "://" in inbox else LocalFolder(inbox)


def list_files(place: WatchedPlace) -> list[WatchedFile]:
    """Dumps and zips in a place, sorted by path; hidden files are left out.

    Raises:
        SourceError: A folder cannot be listed.
    """
    return sorted(_walk(place))


def find_files(inbox: str) -> list[WatchedFile]:
    """Dumps and zips at a path or URI; at least one.

    Raises:
        SourceError: There are no dumps, or the place cannot be listed.
    """
    place = open_place(inbox)
    files = list_files(place)
    if not files:
        raise SourceError(place.name, f"no dumps in this folder or below, wanted {WANTED}")
    return files


def list_arrivals(place: WatchedPlace) -> list[WatchedFile]:
    """Dumps and zips in a place, with times of arrival if known: a copy may keep an older time.

    Raises:
        SourceError: A folder cannot be listed.
    """
    files = list_files(place)
    return [_arrived(file) for file in files] if isinstance(place, LocalFolder) else files


def _arrived(file: WatchedFile) -> WatchedFile:
    with suppress(FileNotFoundError):
        return file._replace(mtime_ns=max(file.mtime_ns, os.stat(file.path).st_ctime_ns))
    return file


def _walk(place: WatchedPlace) -> Iterator[WatchedFile]:
    folders = [place.root]
    while folders:
        for seen in place.list_folder(folders.pop()):
            if seen.is_folder:
                folders.append(seen.path)
            elif _is_wanted(os.path.basename(seen.path)):
                yield seen


def _is_wanted(name: str) -> bool:
    return not name.startswith(".") and (is_dump(name) or is_zip(name))


@dataclass(frozen=True)
class LocalFiles:
    """Files of a place on this machine.

    Attributes:
        dumps: Each dump, with the path of its file in the place, and its name in a zip.
        faults: Errors of files without dumps, such as a damaged zip.
    """

    dumps: list[tuple[str, str | None, Dump]]
    faults: list[SourceError]


@contextmanager
def local_dumps(
    place: WatchedPlace, paths: Sequence[str], stated: ManifestDefaults
) -> Iterator[LocalFiles]:
    """The dumps in files of a place, with manifests and companions; missing files are skipped.

    Raises:
        SourceError: The files cannot be fetched.
        ManifestError: The stated fields are malformed.
    """
    with place.local_paths(paths) as copies:
        origins = {
            copy: path for copy, path in zip(copies, paths, strict=True) if os.path.lexists(copy)
        }
        names = FolderNames()
        listed = list_sources(origins, names).found
        faults = [_renamed(one, place) for one in listed if isinstance(one, SourceError)]
        sources = [one for one in listed if isinstance(one, Source)]
        found = FoundDumps(
            sources,
            manifest=stated.manifest,
            layout=stated.layout,
            names=names,
            tops=[place.local_root],
        )
        dumps = [
            (origins[source.path], source.member, dump.renamed(place.restore_paths))
            for source, dump in zip(sources, found, strict=True)
        ]
        yield LocalFiles(dumps, faults)


def _renamed(error: SourceError, place: WatchedPlace) -> SourceError:
    name, problem = place.restore_paths(error.source), place.restore_paths(error.problem)
    return SourceError(name, problem, reason=error.reason)
