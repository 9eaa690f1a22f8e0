"""The entries of a transaction, sealed in the archive before it is committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.upkeep import ARCHIVED_FILES
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import Entry
from tracehouse.warehouse.archive.segments import Segment, SegmentWriter
from tracehouse.warehouse.engine.connection import insert_rows, transaction
from tracehouse.warehouse.errors import write_errors

_INDEXED = "SELECT segment FROM archive_segments"
_UNMARK = "DELETE FROM archived_files WHERE segment IN (SELECT unnest(?))"
_LAST = "SELECT coalesce(max(segment), 0) FROM archive_segments"
_FILED = "SELECT sha256 FROM archived_files WHERE sha256 IN (SELECT unnest(?))"
# After these errors of a COMMIT, the transaction may or may not be committed.
_UNCERTAIN = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException)


def read_indexed(connection: duckdb.DuckDBPyConnection) -> set[int]:
    """Numbers of the segments whose entries are in the store."""
    return {row[0] for row in connection.execute(_INDEXED).fetchall()}


def find_unindexed(archive: Archive, indexed: Set[int]) -> list[Segment]:
    """Segments of the archive with entries that are not in the store."""
    return [one for one in archive.segments() if not indexed >= {*range(one.first, one.last + 1)}]


def unmark_lost_segments(
    connection: duckdb.DuckDBPyConnection, archive: Archive, indexed: Set[int]
) -> None:
    """Mark files in lost segments as not archived, so that the next ingest archives them."""
    gone = indexed - archive.numbers()
    if gone:
        with transaction(connection):
            connection.execute(_UNMARK, [list(gone)])


class History:
    """Entries of one transaction, in order; without an archive they are discarded."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, archive: Archive | None) -> None:
        self._connection, self._archive = connection, archive
        self._writer: SegmentWriter | None = None
        self._entries = self._last = 0
        self._files: list[dict[str, object]] = []
        self._is_committing = False

    def add(self, entries: Iterable[Entry]) -> None:
        """Append entries, which are made only if there is an archive.

        Their bytes are compressed in another thread.
        """
        assert not self._is_committing, "the store would lead the archive"
        if self._archive is None or not (made := list(entries)):
            return
        if self._writer is None:
            ((self._last,),) = self._connection.execute(_LAST).fetchall()
            self._writer = self._archive.begin(self._last)
        self._writer.add(made)
        self._entries += len(made)
        self._files += [
            {"sha256": entry.sha256, "kind": entry.kind, "byte_count": len(entry.data)}
            for entry in made
            if entry.data is not None
        ]

    def end(self) -> None:
        """Start writing the entries to disk in another thread; no further entries can be added."""
        if self._writer is not None:
            self._writer.end()

    def missing(self, hashes: Iterable[str]) -> set[str]:
        """The hashes of files that are not in the archive yet."""
        wanted = set(hashes) - {str(file["sha256"]) for file in self._files}
        if not wanted or self._archive is None:
            return set()
        rows = self._connection.execute(_FILED, [list(wanted)]).fetchall()
        return wanted - {row[0] for row in rows}

    def seal(self) -> None:
        """Write the entries to disk, and record the segment in the open transaction.

        Raises:
            StoreError: The disk is full, or the archive cannot be written.
        """
        if self._writer is None:
            return
        with write_errors(str(self._writer.folder)):
            segment = self._writer.seal()
        number = segment.first
        assert number > self._last, "numbers of segments increase"
        assert segment.path.exists(), "the store never leads its archive"
        ledger = "INSERT INTO archive_segments VALUES (?, ?)"
        self._connection.execute(ledger, [number, self._entries])
        rows = [{**file, "segment": number} for file in self._files]
        insert_rows(self._connection, "archived_files", pa.Table.from_pylist(rows, ARCHIVED_FILES))

    def begin_commit(self) -> None:
        """From now on, the transaction may be committed even if it seems to fail."""
        self._is_committing = True

    def discard(self, error: BaseException) -> None:
        """Discard the entries of a transaction that failed with an error.

        The entries are kept if the transaction may be committed nevertheless; if it is not, the
        store replays them when it is opened next.
        """
        is_refused = isinstance(error, duckdb.Error) and not isinstance(error, _UNCERTAIN)
        if self._writer is not None and (is_refused or not self._is_committing):
            self._writer.discard()


@contextmanager
def record_entries(
    connection: duckdb.DuckDBPyConnection, archive: Archive | None
) -> Iterator[History]:
    """A transaction whose entries are sealed in the archive before it is committed.

    Raises:
        StoreError: The archive cannot be written.
    """
    history = History(connection, archive)
    try:
        with transaction(connection):
            yield history
            history.seal()
            history.begin_commit()
    except BaseException as error:  # an interrupt, too, must leave nothing half-done
        history.discard(error)
        raise
