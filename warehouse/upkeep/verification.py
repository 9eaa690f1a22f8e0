"""Verification of a store: dumps of its archive are loaded again elsewhere, and compared.

It is a rebuild that replaces nothing. It only reads the store, so it runs beside the process that
writes it, on a snapshot. Rows are compared by hashes that DuckDB computes from both files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import FORGOTTEN
from tracehouse.warehouse.archive.history import find_unindexed, read_indexed
from tracehouse.warehouse.archive.segments import read_entries
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS, dump_checksums, table_checksums
from tracehouse.warehouse.engine.connection import (
    open_reader,
    open_writer,
    translated_errors,
    use_database,
)
from tracehouse.warehouse.engine.memory_limit import ASKING, stored_long_values
from tracehouse.warehouse.engine.migrations import migrate
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.engine.tables import VIEW_ROWS
from tracehouse.warehouse.engine.view_rows import checkpoint, find_kept_views
from tracehouse.warehouse.load.children import ChildDecoder, DecodingChildren
from tracehouse.warehouse.load.content import OWN_DECODER, Decoder
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep.replay import Selection, replay
from tracehouse.warehouse.upkeep.verification_record import record_verification

_DUMPS = "SELECT dump_id, sha256, source FROM dumps"
_DIFFERENT = "rows differ from those that a rebuild gives"
_ABSENT = "the archive does not have the dump"
_UNLOADABLE = "the file in the archive cannot be loaded"
# Tables whose rows dumps share, each with the column that chooses the rows to compare.
SHARED = {
    "devices": "device_id",
    "models": "model_id",
    "builds": "build_id",
    "run_signatures": "run_signature_id",
    "event_signatures": "event_signature_id",
    "tensors": "sha256",
    "etrecords": "etrecord_id",
    "graph_nodes": "etrecord_id",
    "debug_handles": "etrecord_id",
    "delegates": "etrecord_id",
    "event_origins": "etrecord_id",
    "event_modules": "etrecord_id",
}
_KEPT = {name: schema for name, schema in VIEW_ROWS.items() if name != "view_rows_state"}
OWN_COLUMNS = {"builds": ["build_id", "name"]}  # the others are gathered from all dumps


class Sample(NamedTuple):
    """Dumps that were ingested one after the other, which the archive has together.

    Attributes:
        share: Their share of all dumps.
        start: Share of the dumps before the first; after the last dump come those from the start.
        since: Only dumps that were ingested then or later count.
    """

    share: float
    start: float = 0.0
    since: datetime | None = None


ALL = Sample(1.0)


class VerifiedDump(NamedTuple):
    """A dump to verify."""

    dump_id: int
    sha256: str
    source: str


class Damage(NamedTuple):
    """Rows that are not what the archive says.

    Attributes:
        dump_id: Dump of the rows; None for rows that dumps share.
        sha256: SHA-256 of the dump, if there is one.
        source: Its source.
        tables: Tables with these rows.
        problem: What disagrees.
    """

    dump_id: int | None
    sha256: str | None
    source: str
    tables: str
    problem: str

    def describe(self) -> str:
        """Whose rows are wrong, in which tables, and how, in a line."""
        return f"{self.source or 'shared rows'}: {self.tables}: {self.problem}"


class Verification(NamedTuple):
    """The result of a verification.

    Attributes:
        dumps: The dumps whose rows were compared.
        damages: All disagreements.
    """

    dumps: Sequence[VerifiedDump]
    damages: Sequence[Damage]

    def table(self) -> pa.Table:
        """The damages as rows."""
        columns = [("dump_id", pa.int32()), *((name, pa.string()) for name in Damage._fields[1:])]
        return pa.Table.from_pylist([one._asdict() for one in self.damages], pa.schema(columns))


def verify_store(
    live: duckdb.DuckDBPyConnection,
    store: Path,
    scratch: Path,
    *,
    sample: Sample = ALL,
    decoder: Decoder = OWN_DECODER,
    progress: Callable[[IngestProgress], None] | None = None,
) -> Verification:
    """Load dumps of the archive in an empty folder, and compare all their rows.

    Of all dumps together, every table is compared, with the records of refusals, decisions and
    nights.

    Args:
        live: A connection that reads the store or a snapshot of it.
        store: The store's directory.
        scratch: The folder.
        sample: The dumps.
        decoder: Decodes the dumps.
        progress: Called after each part.

    Raises:
        StoreError: The store cannot be read, or the folder not be written.
        ArchiveError: A segment of the archive is damaged or gone.
    """
    archive, lost = Archive(store), list[Refusal]()
    with translated_errors(store):
        chosen = live.execute(read_statement("verified_dumps"), sample._asdict()).fetchall()
        indexed = read_indexed(live)
        forgotten = _find_forgotten(live, archive, indexed)
        dumps = [dump for dump in map(VerifiedDump._make, chosen) if dump.sha256 not in forgotten]
        needed = ASKING + stored_long_values(live, store / FILE_NAME).held_bytes
    hashes = None if sample == ALL else {dump.sha256 for dump in dumps}
    with translated_errors(scratch), open_writer(scratch / FILE_NAME) as scratch_store:
        use_database(scratch_store)
        scratch_store.execute(f"SET memory_limit = '{needed}B'")
        migrate(scratch_store)
        replay(
            scratch_store,
            archive,
            Selection(archive.segments(), indexed, hashes),
            decoder=decoder,
            lost=lost,
            progress=progress,
        )
        checkpoint(scratch_store)
    with translated_errors(store), open_reader(scratch / FILE_NAME) as rebuilt:
        use_database(rebuilt)
        compared = _Comparison(live, rebuilt, dumps, {str(one.sha256) for one in lost})
        if sample == ALL and not forgotten:
            return Verification(dumps, compared.compare_all())
        return Verification(dumps, compared.compare_dumps())


def verify_and_record(
    live: duckdb.DuckDBPyConnection,
    store: Path,
    sample: Sample,
    *,
    scratch: Path | None = None,
    turn: int | None = None,
    progress: Callable[[IngestProgress], None] | None = None,
) -> Verification:
    """Verify a store by a process that may die of a dump, and keep the result in its directory.

    Args:
        live: A connection that reads the store or a snapshot of it.
        store: The store's directory.
        sample: The dumps.
        scratch: Folder for the dumps that are loaded again; by default that for temporary files.
        turn: The next turn, if a service verifies its dumps in turn.
        progress: Called after each part.

    An ArchiveError and a StoreError are passed on.
    """
    with (
        TemporaryDirectory(prefix="tracehouse-verify-", dir=scratch) as folder,
        closing(DecodingChildren()) as children,
    ):
        found = verify_store(
            live,
            store,
            Path(folder),
            sample=sample,
            decoder=ChildDecoder(children, is_limited=False),
            progress=progress,
        )
    record_verification(
        store,
        {one.sha256 for one in found.dumps},
        dumps={one.sha256 or str(one.dump_id): one.tables for one in found.damages if one.dump_id},
        tables=[one.tables for one in found.damages if not one.dump_id],
        is_whole=sample == ALL,
        turn=turn,
    )
    return found


def _find_forgotten(
    live: duckdb.DuckDBPyConnection, archive: Archive, indexed: Set[int]
) -> set[str]:
    """Dumps that were forgotten since the store was as it is read."""
    return {
        str(entry.sha256)
        for segment in find_unindexed(archive, indexed)
        for number, entry in read_entries(segment, with_data=False)
        if entry.kind == FORGOTTEN and number not in indexed
    }


class _Comparison:
    """A store and its rebuilt dumps, some of which could not be loaded."""

    def __init__(
        self,
        live: duckdb.DuckDBPyConnection,
        rebuilt: duckdb.DuckDBPyConnection,
        dumps: Sequence[VerifiedDump],
        lost: Collection[str],
    ) -> None:
        self._live, self._rebuilt, self._dumps = live, rebuilt, dumps
        rows = map(VerifiedDump._make, rebuilt.execute(_DUMPS).fetchall())
        self._found = {dump.dump_id: dump for dump in rows}
        hashes = {dump.sha256 for dump in self._found.values()}
        self._damages = [
            Damage(*dump, "archived_files", _UNLOADABLE if dump.sha256 in lost else _ABSENT)
            for dump in dumps
            if dump.sha256 not in hashes
            and (dump.sha256 in lost or dump.dump_id not in self._found)
        ]
        self._skipped = {damage.dump_id for damage in self._damages}

    def compare_dumps(self) -> list[Damage]:
        """What is wrong with the rows of the dumps, and those that they share with others."""
        ids = [dump.dump_id for dump in self._dumps if dump.dump_id not in self._skipped]
        return self._finish(self._differing(TABLES_OF_DUMPS, ids), filter(self._lacks, SHARED))

    def compare_all(self) -> list[Damage]:
        """What is wrong with the rows of any table."""
        if self._skipped:  # rows that only these dumps have are not rebuilt
            ids = {*(dump.dump_id for dump in self._dumps), *self._found} - self._skipped
            return self._finish(self._differing(TABLES_OF_DUMPS, ids), filter(self._lacks, SHARED))
        wrong = self._differing_tables(STORED)
        of_dumps = [name for name in wrong if name in TABLES_OF_DUMPS]
        damages = self._finish(
            self._differing(of_dumps, None), (name for name in wrong if name not in of_dumps)
        )
        # Rows of views; after a kill or with little memory, the views work them out.
        is_kept = find_kept_views(self._live) and find_kept_views(self._rebuilt)
        kept = self._differing_tables(_KEPT) if is_kept else ()
        return damages or [Damage(None, None, "", name, _DIFFERENT) for name in kept]

    def _differing_tables(self, schemas: Mapping[str, pa.Schema]) -> list[str]:
        old, new = (table_checksums(one, schemas) for one in (self._live, self._rebuilt))
        return [name for name in schemas if old[name] != new[name]]

    def _differing(
        self, tables: Iterable[str], ids: Collection[int] | None
    ) -> dict[int, list[str]]:
        """Tables with other rows, by dump."""
        found: dict[int, list[str]] = {}
        for table in tables:
            old, new = (dump_checksums(one, table, ids) for one in (self._live, self._rebuilt))
            for id_ in old.keys() | new.keys():
                if old.get(id_) != new.get(id_):
                    found.setdefault(id_, []).append(table)
        return found

    def _finish(self, own: Mapping[int, Sequence[str]], shared: Iterable[str]) -> list[Damage]:
        known = self._found | {dump.dump_id: dump for dump in self._dumps}
        for id_, tables in sorted(own.items()):
            dump, named = known.get(id_), ", ".join(tables)
            sha256, source = (dump.sha256, dump.source) if dump else (None, "")
            self._damages.append(Damage(id_, sha256, source, named, _DIFFERENT))
        self._damages.sort(key=lambda damage: damage.dump_id or 0)
        return self._damages + [Damage(None, None, "", name, _DIFFERENT) for name in shared]

    def _lacks(self, table: str) -> bool:
        """Whether a table of the store lacks rows that were rebuilt, or has them otherwise."""
        key = SHARED[table]
        keys = _read(self._rebuilt, f"SELECT DISTINCT {key} FROM {table}")  # noqa: S608
        columns = ", ".join(OWN_COLUMNS.get(table, STORED[table].names))
        text = f"SELECT DISTINCT hash({columns}) FROM {table} WHERE {key} IN (SELECT unnest(?))"  # noqa: S608
        return not _read(self._rebuilt, text, [*keys]) <= _read(self._live, text, [*keys])


def _read(connection: duckdb.DuckDBPyConnection, text: str, *values: object) -> set[object]:
    return {row[0] for row in connection.execute(text, values).fetchall()}
