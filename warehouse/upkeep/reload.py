"""Single dumps whose rows are rebuilt from the archive, in an open store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import duckdb

from ingest.batching import batches
from warehouse.archive.archive import Archive
from warehouse.archive.entries import AMENDED, COMPANIONS, DROPPED, DUMP, FORGOTTEN, Entry
from warehouse.archive.segments import Segment, read_entries
from warehouse.engine.checksums import TABLES_OF_DUMPS, Checksum, dump_checksums
from warehouse.engine.connection import open_cursor, translated_errors
from warehouse.errors import ArchiveError, QueryError
from warehouse.load.batches import BATCH_BYTES, BATCH_FILES, Batch
from warehouse.load.committer import Committer
from warehouse.load.decoders import OWN_DECODER
from warehouse.load.loader import Loader
from warehouse.load.new_dump import NewDump
from warehouse.load.pipeline import STREAM_BYTES
from warehouse.load.summary import IngestProgress
from warehouse.upkeep.archived_batches import ArchiveReader
from warehouse.upkeep.choice import ChosenDump
from warehouse.upkeep.nights import delete_nights
from warehouse.upkeep.retain import drop_events


class ReloadedDump(NamedTuple):
    """A dump whose rows are rebuilt; `changed_tables` had other rows of it before."""

    dump_id: int
    sha256: str
    source: str
    changed_tables: str


class _ArchivedDump(NamedTuple):
    """A dump as the archive has it.

    Attributes:
        segment: Segment with its bytes.
        dump: Its entry, with its present manifest and companions, and perhaps without its bytes.
        dropped: The entry that dropped its events, if any.
    """

    segment: Segment
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

    Their ids stay. Names, signatures and ETRecords, which dumps share, stay as they are. Reports
    of nights, which may contain values of wrong rows, are deleted.

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
    replacement = _Replacement(connection, archived)
    delete_nights(connection, store)  # first, because a kill may end this between two dumps
    reloaded: list[ReloadedDump] = []
    with translated_errors(store), open_cursor(connection) as cursor:
        reader = ArchiveReader(cursor, archive)
        for some in batches(dumps, attrgetter("byte_count"), BATCH_BYTES, BATCH_FILES):
            batch = Batch()
            batch.dumps = [reader.new_dump(one, batch) for one in _with_data(archived, some)]
            if batch.refused or replacement.load(batch) != len(some):
                refused = "; ".join(f"{one.source}: {one.detail}" for one in batch.refused)
                problem = refused or "its bytes are gone"
                raise ArchiveError(str(archive.folder), f"a dump cannot be loaded: {problem}")
            reloaded += replacement.summaries(some)
            if progress:
                progress(IngestProgress(len(reloaded), len(dumps), 0, 0))
    delete_nights(connection, store)  # a reader may have judged old rows meanwhile
    return reloaded


class _Replacement:
    """Replaces the rows of dumps."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, archived: Mapping[str, _ArchivedDump]
    ) -> None:
        self._connection, self._archived = connection, archived
        self._committer = Committer(connection, None, OWN_DECODER)
        self._committer.loader = Loader(connection, None, self._replacing)
        self._before: dict[tuple[str, int], Checksum] = {}
        self._after: dict[tuple[str, int], Checksum] = {}

    def load(self, batch: Batch) -> int:
        """Load a batch, in place of the rows of its dumps; returns the number of dumps."""
        if sum(len(dump.data) for dump in batch.dumps) < STREAM_BYTES:
            batch.contents = [OWN_DECODER.decode(batch.dumps)]
        return self._committer.commit([batch]).n_dumps

    def summaries(self, dumps: Sequence[ChosenDump]) -> Iterator[ReloadedDump]:
        """Dumps that were loaded, and the tables that differ."""
        for dump in dumps:
            keys = [(name, dump.dump_id) for name in TABLES_OF_DUMPS]
            changed = [key[0] for key in keys if self._after.get(key) != self._before.get(key)]
            yield ReloadedDump(*dump[:3], ", ".join(changed))

    @contextmanager
    def _replacing(self, dumps: Sequence[NewDump]) -> Iterator[None]:
        """Delete the old rows before the body inserts new ones, and drop events as before."""
        ids = [dump.ids.dump for dump in dumps if dump.ids]
        self._before |= dump_checksums(self._connection, ids)
        for name in TABLES_OF_DUMPS:
            text = f"DELETE FROM {name} WHERE dump_id IN (SELECT unnest(?))"  # noqa: S608
            self._connection.execute(text, [ids])
        yield
        dropped = [self._archived[dump.sha256].dropped for dump in dumps]
        if entries := [entry for entry in dropped if entry]:
            drop_events(self._connection, entries)
        self._after |= dump_checksums(self._connection, ids)


def _find_archived(archive: Archive, hashes: set[str]) -> dict[str, _ArchivedDump]:
    """The archived ones among some dumps, without their bytes."""
    found: dict[str, _ArchivedDump] = {}
    for segment in archive.segments():
        for _, entry in read_entries(segment, with_data=False):
            sha256 = entry.sha256 or ""
            if sha256 not in hashes:
                continue
            if entry.kind == DUMP:
                found[sha256] = _ArchivedDump(segment, entry)
            elif entry.kind == FORGOTTEN:
                found.pop(sha256, None)
            elif sha256 in found:
                found[sha256] = found[sha256].changed_by(entry)
    return found


def _with_data(
    archived: Mapping[str, _ArchivedDump], dumps: Sequence[ChosenDump]
) -> Iterator[Entry]:
    """The entries of dumps with their bytes, by segment."""
    wanted = [archived[dump.sha256] for dump in dumps]
    for segment in dict.fromkeys(one.segment for one in wanted):
        own = {one.dump.sha256: one.dump for one in wanted if one.segment == segment}
        for _, entry in read_entries(segment):
            if entry.kind == DUMP and entry.sha256 in own:
                yield own.pop(entry.sha256)._replace(data=entry.data)
