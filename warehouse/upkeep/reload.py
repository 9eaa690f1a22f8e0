"""Single dumps whose rows are rebuilt from the archive, in an open store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import duckdb

from tracehouse.ingest.batching import batches
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS
from tracehouse.warehouse.engine.connection import open_cursor, translated_errors
from tracehouse.warehouse.engine.stored_digests import changed_tables, read_digests
from tracehouse.warehouse.errors import ArchiveError, QueryError
from tracehouse.warehouse.load.batches import BATCH_BYTES, BATCH_FILES, Batch
from tracehouse.warehouse.load.committer import Committer
from tracehouse.warehouse.load.decoders import OWN_DECODER
from tracehouse.warehouse.load.loader import Loader
from tracehouse.warehouse.load.new_dump import NewDump
from tracehouse.warehouse.load.pipeline import STREAM_BYTES
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep.archived_batches import ArchiveReader
from tracehouse.warehouse.upkeep.archived_dumps import (
    ArchivedDump,
    find_archived_dumps,
    read_archived,
)
from tracehouse.warehouse.upkeep.choice import ChosenDump
from tracehouse.warehouse.upkeep.nights import delete_nights
from tracehouse.warehouse.upkeep.retain import drop_events


class ReloadedDump(NamedTuple):
    """A dump whose rows are rebuilt; `changed_tables` had other rows of it before."""

    dump_id: int
    sha256: str
    source: str
    changed_tables: str


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
    archived = find_archived_dumps(archive, {dump.sha256 for dump in dumps})
    for dump in dumps:
        if dump.sha256 not in archived:
            problem = "not in the archive: ingest its files again, which adds them to the archive"
            raise QueryError(f"{dump.source}: {problem}")
    replacement = _Replacement(connection, archived)
    delete_nights(connection, store)  # first, because a kill may end this between two dumps
    reloaded: list[ReloadedDump] = []
    with translated_errors(store), open_cursor(connection) as cursor:
        reader = ArchiveReader(cursor, archive)
        for some in batches(dumps, attrgetter("byte_count"), BATCH_BYTES, BATCH_FILES):
            batch = Batch()
            entries = read_archived(archived[dump.sha256] for dump in some)
            batch.dumps = [reader.new_dump(entry, batch) for entry in entries]
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
        self, connection: duckdb.DuckDBPyConnection, archived: Mapping[str, ArchivedDump]
    ) -> None:
        self._connection, self._archived = connection, archived
        self._committer = Committer(connection, None, OWN_DECODER)
        self._committer.loader = Loader(connection, None, self._replacing)
        self._changed: dict[int, str] = {}

    def load(self, batch: Batch) -> int:
        """Load a batch, in place of the rows of its dumps; returns the number of dumps."""
        if sum(len(dump.data) for dump in batch.dumps) < STREAM_BYTES:
            batch.contents = [OWN_DECODER.decode(batch.dumps)]
        return self._committer.commit([batch]).n_dumps

    def summaries(self, dumps: Sequence[ChosenDump]) -> Iterator[ReloadedDump]:
        """Dumps that were loaded, and the tables that differ."""
        for dump in dumps:
            yield ReloadedDump(*dump[:3], self._changed.get(dump.dump_id, ""))

    @contextmanager
    def _replacing(self, dumps: Sequence[NewDump]) -> Iterator[None]:
        """Delete the old rows before the body inserts new ones, and drop events as before."""
        ids = [dump.ids.dump for dump in dumps if dump.ids]
        before = read_digests(self._connection, ids)
        for name in TABLES_OF_DUMPS:
            text = f"DELETE FROM {name} WHERE dump_id IN (SELECT unnest(?))"  # noqa: S608
            self._connection.execute(text, [ids])
        yield
        dropped = [self._archived[dump.sha256].dropped for dump in dumps]
        if entries := [entry for entry in dropped if entry]:
            drop_events(self._connection, entries)
        self._changed |= changed_tables(before, read_digests(self._connection, ids))
