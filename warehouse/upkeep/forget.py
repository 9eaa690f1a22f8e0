"""Dumps deleted for good: from the store, its archive and its snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path

import duckdb
import pyarrow as pa

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.ingest.schemas.upkeep import ARCHIVED_FILES
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import (
    DEBUG_BUFFER,
    DECIDED,
    ERASED,
    ETRECORD,
    FORGOTTEN,
    JUDGED,
    Entry,
)
from tracehouse.warehouse.archive.rewriting import delete_segments, rewrite_segments
from tracehouse.warehouse.archive.segments import read_entries
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS
from tracehouse.warehouse.engine.connection import (
    register_temporarily,
    transaction,
    translated_errors,
)
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load.dump_rows import merge_dimensions
from tracehouse.warehouse.upkeep.choice import ChosenDump
from tracehouse.warehouse.upkeep.compact import delete_snapshots, request_compaction
from tracehouse.warehouse.upkeep.recording import current_user, record_upkeep

_COMPANIONS = (ETRECORD, DEBUG_BUFFER)
_FILE = pa.schema([ARCHIVED_FILES.field(name) for name in ("sha256", "segment")])
_FORGOTTEN = STORED["forgotten_dumps"]
_LAST = "SELECT coalesce(max(forgotten_at), to_timestamp(0)) AS last FROM forgotten_dumps"
_DECIDED = "SELECT group_id FROM group_decisions"
_GONE = "SELECT dump_id FROM dumps WHERE sha256 IN (SELECT sha256 FROM forgotten)"

UNCOMPACTED = (
    "dumps were forgotten, but free blocks of the DuckDB file may contain them until "
    "'tracehouse store compact' is run"
)


def forget_dumps(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    dumps: Sequence[ChosenDump],
    *,
    user: str | None = None,
) -> None:
    """Delete dumps and everything that only they use: names, signatures and companions.

    The table forgotten_dumps records when and by which user, by default that of this process; the
    bytes may be ingested again, as a new dump. Free blocks of the DuckDB file contain the dumps
    until the file is compacted: see `finish_forgetting`. After an interrupt, the archive is cleaned
    when the store is opened for writing next. A damaged segment raises ArchiveError; the
    archive is then cleaned when the store is opened for writing after a rebuild.

    Raises:
        StoreError: The store cannot be written.
    """
    request_compaction(store)
    now, who = datetime.now(UTC), user or current_user()
    entries = [Entry(FORGOTTEN, now, "", dump.sha256, detail=who) for dump in dumps]
    with record_upkeep(connection, store) as history:
        history.add(entries)
        delete_dumps(connection, entries)
    with translated_errors(store):
        erase_forgotten(connection, store)


def forgotten_row(entry: Entry) -> dict[str, object]:
    """The row of forgotten_dumps that follows from an entry."""
    times = {"forgotten_at": entry.recorded_at, "forgotten_by": entry.detail}
    return {"sha256": entry.sha256, **times}


def delete_dumps(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Delete dumps, refusals of their bytes, results of nights, and rows without other dumps.

    Notes on points without other dumps are such rows.
    """
    rows = pa.Table.from_pylist([forgotten_row(entry) for entry in entries], _FORGOTTEN)
    with register_temporarily(connection, "forgotten", rows):
        for name in sorted(TABLES_OF_DUMPS, key="dumps".__eq__):
            connection.execute(f"DELETE FROM {name} WHERE dump_id IN ({_GONE})")  # noqa: S608
        connection.execute(read_statement("record_forgotten"))
    connection.execute("DELETE FROM judged_nights")
    connection.execute(read_statement("delete_unused"))
    merge_dimensions(connection)


def finish_forgetting(compact: Callable[[], object]) -> None:
    """Compact a store by a function, so that no free block contains forgotten dumps.

    Raises:
        StoreError: The store cannot be compacted now; the message names the command.
    """
    try:
        compact()
    except StoreError as error:
        raise StoreError(error.place, f"{error.problem}; {UNCOMPACTED}") from error


def find_kept_files(store: Path) -> list[Path]:
    """Damaged or replaced files that were kept, and may contain forgotten dumps."""
    aside = Archive(store).folder / "damaged"
    return [*sorted(store.glob(f"{FILE_NAME}*.old-*")), *sorted(aside.glob("*"))]


def is_unerased(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the archive still contains forgotten dumps."""
    return connection.execute(read_statement("unerased_dumps")).fetchone() is not None


def erase_forgotten(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Erase all snapshots, and forgotten dumps and their unshared companions from the archive.

    After a kill, the next call does the rest. An ArchiveError of a damaged segment and an OSError,
    such as of a full disk, are passed on.
    """
    archive = Archive(store)
    hashes = {row[0] for row in connection.execute(read_statement("unerased_dumps")).fetchall()}
    last = connection.sql(_LAST).to_arrow_table()["last"][0].as_py()
    decided = {row[0] for row in connection.execute(_DECIDED).fetchall()}
    delete_snapshots(store)  # first, as segments need room
    found = _Contents(archive, hashes, decided, last)
    dirty_paths, kept_files = found.sort()
    for _, same in groupby(archive.files(), attrgetter("first", "last")):
        files = list(same)
        dirty = [one for one in files if one.path in dirty_paths]
        if dirty and len(dirty) == len(files):
            rewrite_segments(archive, dirty[:1], found.erased)
        delete_segments(archive, dirty)
    _mark_erased(connection, pa.Table.from_pylist(kept_files, _FILE))


def _mark_erased(connection: duckdb.DuckDBPyConnection, kept: pa.Table) -> None:
    """Record that the archive has only these files; then no forgotten dump is in it."""
    with transaction(connection), register_temporarily(connection, "kept_files", kept):
        connection.execute(read_statement("keep_archived_files"))


class _Contents:
    """Entries of an archive, divided into those to erase and the rest.

    The results of nights up to the last forgetting may contain values of forgotten dumps.
    Decisions up to then that the store lacks are notes, which may contain names of forgotten dumps.
    """

    def __init__(
        self, archive: Archive, hashes: set[str], decided: set[str], forgotten_at: datetime
    ) -> None:
        self._archive, self._hashes, self._decided = archive, hashes, decided
        self._forgotten_at = forgotten_at
        kept = (entry for _, (_, entry) in self._entries() if not self._is_forgotten(entry))
        used = ((entry.etrecord_sha256, entry.debug_buffer_sha256) for entry in kept)
        self._used = set(chain.from_iterable(used))

    def sort(self) -> tuple[set[Path], list[dict[str, int | str | None]]]:
        """Segments with an entry to erase; and the remaining files, with their segments."""
        dirty, files = set(), []
        for path, (number, entry) in self._entries():
            if self._is_erased(entry):
                dirty.add(path)
            elif entry.byte_count is not None:
                files.append({"sha256": entry.sha256, "segment": number})
        return dirty, files

    def erased(self, entry: Entry) -> Entry:
        """The entry, or the placeholder of an erased one."""
        return Entry(ERASED, entry.recorded_at, "") if self._is_erased(entry) else entry

    def _entries(self) -> Iterator[tuple[Path, tuple[int, Entry]]]:
        for file in self._archive.files():
            for numbered in read_entries(file, with_data=False):
                yield file.path, numbered

    def _is_forgotten(self, entry: Entry) -> bool:
        """Whether an entry is about a forgotten dump."""
        return entry.sha256 in self._hashes and entry.kind not in (FORGOTTEN, *_COMPANIONS)

    def _is_erased(self, entry: Entry) -> bool:
        is_unused = entry.kind in _COMPANIONS and entry.sha256 not in self._used
        is_gone = entry.kind == JUDGED or (
            entry.kind == DECIDED and entry.name not in self._decided
        )
        is_old = is_gone and entry.recorded_at <= self._forgotten_at
        return is_unused or is_old or self._is_forgotten(entry)
