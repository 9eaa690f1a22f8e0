"""Single dumps whose rows are rebuilt from the archive, in an open store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from warehouse.archive.archive import Archive
from warehouse.archive.entries import AMENDED, COMPANIONS, DROPPED, DUMP, FORGOTTEN, Entry
from warehouse.archive.segments import read_entries
from warehouse.engine.checksums import TABLES_OF_DUMPS, Checksum, dump_checksums
from warehouse.engine.connection import open_cursor, translated_errors
from warehouse.errors import ArchiveError, QueryError
from warehouse.load.batches import Batch
from warehouse.load.committer import Committer
from warehouse.load.decoders import OWN_DECODER
from warehouse.load.loader import Loader
from warehouse.load.new_dump import NewDump
from warehouse.load.pipeline import STREAM_BYTES
from warehouse.load.summary import IngestProgress
from warehouse.upkeep.archived_batches import ArchiveReader
from warehouse.upkeep.choice import ChosenDump
from warehouse.upkeep.retain import drop_events


class ReloadedDump(NamedTuple):
    """A dump whose rows are rebuilt; `changed_tables` had other rows of it before."""

    dump_id: int
    sha256: str
    source: str
    changed_tables: str


class _ArchivedDump(NamedTuple):
    """A dump with its present manifest and companions, and the entry that dropped its events."""

    dump: Entry
    dropped: Entry | None = None

    def changed_by(self, later: Entry) -> _ArchivedDump:
        """The dump after a later entry about it."""
        if later.kind == DROPPED:
            return self._replace(dropped=later)
        if later.kind == AMENDED:
            changed = self.dump._replace(manifest=later.manifest, ids=later.ids)
        elif later.kind == COMPANIONS:
            changed = self.dump._replace(
                etrecord_sha256=later.etrecord_sha256 or self.dump.etrecord_sha256,
                debug_buffer_sha256=later.debug_buffer_sha256 or self.dump.debug_buffer_sha256,
            )
        else:
            return self
        return self._replace(dump=changed)


def reload_dumps(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    dumps: Sequence[ChosenDump],
    *,
    progress: Callable[[IngestProgress], None] | None = None,
) -> list[ReloadedDump]:
    """Rebuild the rows of dumps from the archive; each dump is replaced in one transaction.

    Their ids stay. Names, signatures and ETRecords, which dumps share, stay as they are.

    Raises:
        QueryError: The archive lacks a dump; no dump is changed.
        ArchiveError: A segment is damaged, or a dump in it cannot be loaded any more.
    """
    archive = Archive(store)
    archived = _find_archived(archive, {dump.sha256 for dump in dumps})
    for dump in dumps:
        if dump.sha256 not in archived:
            problem = "not in the archive: ingest its file again, which adds it to the archive"
            raise QueryError(f"{dump.source}: {problem}")
    reloaded = []
    with translated_errors(store), open_cursor(connection) as cursor:
        reader = ArchiveReader(cursor, archive)
        for number, dump in enumerate(dumps, 1):
            replacement = _Replacement(connection, archived[dump.sha256], dump)
            replacement.load(reader, archive)
            reloaded.append(replacement.summary())
            if progress:
                progress(IngestProgress(number, len(dumps), 0, 0))
    return reloaded


class _Replacement:
    """Replaces the rows of one dump."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, archived: _ArchivedDump, dump: ChosenDump
    ) -> None:
        self._connection, self._archived, self._dump = connection, archived, dump
        self._before: dict[str, Checksum] = {}
        self._after: dict[str, Checksum] = {}

    def load(self, reader: ArchiveReader, archive: Archive) -> None:
        """Load the dump from the archive.

        Raises:
            ArchiveError: The archive has lost the dump's bytes, or they cannot be loaded.
        """
        found, batch = archive.find(self._dump.sha256), Batch()
        if found is None:
            raise ArchiveError(str(archive.folder), f"has lost {self._dump.sha256}")
        new = reader.new_dump(self._archived.dump._replace(data=found.data), batch)
        batch.dumps.append(new)
        committer = Committer(self._connection, None, OWN_DECODER)
        committer.loader = Loader(self._connection, None, self._replacing)
        if len(found.data) < STREAM_BYTES:
            batch.contents = [OWN_DECODER.decode([new])]
        done = committer.commit([batch])
        if done.n_dumps != 1:
            detail = done.refused[0].detail if done.refused else "it was not loaded"
            raise ArchiveError(str(archive.folder), f"{self._dump.sha256}: {detail}")

    def summary(self) -> ReloadedDump:
        """The dump, and the tables that differ."""
        changed = [name for name, found in self._after.items() if found != self._before[name]]
        return ReloadedDump(*self._dump[:3], ", ".join(changed))

    @contextmanager
    def _replacing(self, _: Sequence[NewDump]) -> Iterator[None]:
        """Delete the old rows before the body inserts new ones, and drop events as before."""
        self._before = dump_checksums(self._connection, self._dump.dump_id)
        for name in TABLES_OF_DUMPS:
            where = f"WHERE dump_id = {self._dump.dump_id:d}"
            self._connection.execute(f"DELETE FROM {name} {where}")  # noqa: S608
        yield
        if self._archived.dropped:
            drop_events(self._connection, [self._archived.dropped])
        self._after = dump_checksums(self._connection, self._dump.dump_id)


def _find_archived(archive: Archive, hashes: set[str]) -> dict[str, _ArchivedDump]:
    """The archived ones among some dumps, without their bytes."""
    found: dict[str, _ArchivedDump] = {}
    for segment in archive.segments():
        for _, entry in read_entries(segment, with_data=False):
            sha256 = entry.sha256 or ""
            if sha256 not in hashes:
                continue
            if entry.kind == DUMP:
                found[sha256] = _ArchivedDump(entry)
            elif entry.kind == FORGOTTEN:
                found.pop(sha256, None)
            elif sha256 in found:
                found[sha256] = found[sha256].changed_by(entry)
    return found
