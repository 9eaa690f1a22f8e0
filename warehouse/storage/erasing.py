"""Dumps that were forgotten leave the archive: their segments are written anew without them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path

import duckdb
import pyarrow as pa

from ingest.schemas.archive import ARCHIVED_FILES
from warehouse.archive.archive import Archive
from warehouse.archive.entries import DEBUG_BUFFER, ERASED, ETRECORD, FORGOTTEN, Entry
from warehouse.archive.rewriting import delete_segments, rewrite_segments
from warehouse.archive.segments import read_entries
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import registered, transaction
from warehouse.engine.failpoints import failpoint
from warehouse.engine.store_file import SNAPSHOT_FOLDER

_COMPANIONS = (ETRECORD, DEBUG_BUFFER)
_FILE = pa.schema([ARCHIVED_FILES.field(name) for name in ("sha256", "segment")])


def is_unerased(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the archive still holds dumps that were forgotten."""
    return connection.execute(read_statement("unerased_dumps")).fetchone() is not None


def erase_forgotten(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Erase forgotten dumps from the archive, with files that came with no other, and snapshots.

    Killed at any moment, it does the rest when it is called again. An ArchiveError of a damaged
    segment, or an OSError such as of a full disk, stops it.
    """
    archive = Archive(store)
    hashes = {row[0] for row in connection.execute(read_statement("unerased_dumps")).fetchall()}
    found = _Contents(archive, hashes)
    dirty_paths, kept_files = found.sort()
    for _, same in groupby(archive.files(), attrgetter("first", "last")):
        files = list(same)
        dirty = [one for one in files if one.path in dirty_paths]
        if dirty and len(dirty) == len(files):
            rewrite_segments(archive, dirty[:1], found.erased)
        delete_segments(archive, dirty)
    failpoint("erase snapshots")
    for path in (store / SNAPSHOT_FOLDER).glob("*"):
        path.unlink()
    failpoint("erased")
    kept = pa.Table.from_pylist(kept_files, _FILE)
    with transaction(connection), registered(connection, "kept_files", kept):
        connection.execute(read_statement("keep_archived_files"))


class _Contents:
    """What is in an archive, as far as it says what is to be erased."""

    def __init__(self, archive: Archive, hashes: set[str]) -> None:
        self._archive, self._hashes = archive, hashes
        kept = (entry for _, (_, entry) in self._entries() if not self._is_of(entry))
        used = ((entry.etrecord_sha256, entry.debug_buffer_sha256) for entry in kept)
        self._used = set(chain.from_iterable(used))

    def sort(self) -> tuple[set[Path], list[dict[str, int | str | None]]]:
        """Segments that hold an entry to erase; and files, with segments' numbers, that stay."""
        dirty, files = set(), []
        for path, (number, entry) in self._entries():
            if self._is_erased(entry):
                dirty.add(path)
            elif entry.byte_count is not None:
                files.append({"sha256": entry.sha256, "segment": number})
        return dirty, files

    def erased(self, entry: Entry) -> Entry:
        """The entry, or what stands where one was."""
        return Entry(ERASED, entry.recorded_at, "") if self._is_erased(entry) else entry

    def _entries(self) -> Iterator[tuple[Path, tuple[int, Entry]]]:
        for file in self._archive.files():
            for numbered in read_entries(file, with_data=False):
                yield file.path, numbered

    def _is_of(self, entry: Entry) -> bool:
        """Whether an entry is about a dump that is forgotten."""
        return entry.sha256 in self._hashes and entry.kind not in (FORGOTTEN, *_COMPANIONS)

    def _is_erased(self, entry: Entry) -> bool:
        is_unused = entry.kind in _COMPANIONS and entry.sha256 not in self._used
        return is_unused or self._is_of(entry)
