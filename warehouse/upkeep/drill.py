"""A rebuild drill: some dumps are rebuilt from the archive into a scratch store, and compared.

A drill shows what a rebuild would give, without replacing anything. It only reads the store, so it
runs beside the process that writes it, on a snapshot. Each night has its hundredth of the dumps; a
hundred nights together have all. Rows are compared by hashes that DuckDB computes from both files,
so neither the digests of the store nor the code that makes them is trusted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import duckdb

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import FORGOTTEN
from tracehouse.warehouse.archive.history import read_indexed
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.checksums import TABLES_OF_DUMPS
from tracehouse.warehouse.engine.connection import (
    open_cursor,
    open_reader,
    open_writer,
    translated_errors,
    use_database,
)
from tracehouse.warehouse.engine.migrations import migrate
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.load.committer import Committer
from tracehouse.warehouse.load.decoders import Decoder
from tracehouse.warehouse.load.interpreter import tuned_interpreter
from tracehouse.warehouse.load.pipeline import decoded_groups
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep.archive_decoder import OWN_COLUMNS, SHARED, plan_batches
from tracehouse.warehouse.upkeep.archived_batches import ArchiveReader
from tracehouse.warehouse.upkeep.archived_dumps import (
    ArchivedDump,
    find_archived_dumps,
    read_archived,
)
from tracehouse.warehouse.upkeep.retain import drop_events
from tracehouse.warehouse.upkeep.verification import (
    Damage,
    Sample,
    Verification,
    VerifiedDump,
    find_remedy,
)

_NIGHTS = 100  # that together have all dumps
_MEMORY = "512MB"  # of DuckDB while it writes the scratch store
_FILED = "SELECT sha256 FROM archived_files WHERE kind = 'dump' AND sha256 IN (SELECT unnest(?))"
_DIFFERENT = "rows differ from those that a rebuild gives"
_ABSENT = "the archive does not have the dump"
_UNLOADABLE = "the file in the archive cannot be loaded"

_Hashes = dict[int, tuple[int, str]]  # number of rows and the sum of their hashes, by dump


def sample_of(night: date) -> Sample:
    """The hundredth of the dumps that a night has, the same whenever it is asked for."""
    round_, turn = divmod(night.toordinal(), _NIGHTS)
    order = random.Random(round_).sample(range(_NIGHTS), _NIGHTS)  # noqa: S311 - an order
    return Sample(1 / _NIGHTS, order[turn] / _NIGHTS)


def drill(
    live: duckdb.DuckDBPyConnection,
    store: Path,
    scratch: Path,
    *,
    sample: Sample,
    decoder: Decoder,
    progress: Callable[[IngestProgress], None] | None = None,
) -> Verification:
    """Rebuild a sample of the dumps in an empty folder, and compare all their rows.

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
    archive, file = Archive(store), scratch / FILE_NAME
    with translated_errors(store):
        chosen = live.execute(read_statement("verified_dumps"), sample._asdict()).fetchall()
        dumps = [VerifiedDump(*row) for row in chosen]
        hashes = [one.sha256 for one in dumps]
        archived = find_archived_dumps(archive, set(hashes), indexed=read_indexed(live))
        filed = {row[0] for row in live.execute(_FILED, [hashes]).fetchall()}
        absent = filed - archived.keys()
        absent -= _find_forgotten(archive, absent)
    problems = dict.fromkeys(absent, ("archived_files", _ABSENT))
    with translated_errors(scratch):
        lost = _rebuild(file, archive, archived, decoder=decoder, progress=progress)
    problems |= dict.fromkeys(lost, ("archived_files", _UNLOADABLE))
    ids = [one.dump_id for one in dumps if one.sha256 in archived and one.sha256 not in lost]
    with translated_errors(store), open_reader(file) as rebuilt:
        use_database(rebuilt)
        differing, shared = _compare(live, rebuilt, ids)
    own = {one.sha256: differing.get(one.dump_id) for one in dumps}
    problems |= {key: (", ".join(tables), _DIFFERENT) for key, tables in own.items() if tables}
    damages = [Damage(*dump, *problems[dump.sha256]) for dump in dumps if dump.sha256 in problems]
    damages += [Damage(None, None, "", table, _DIFFERENT) for table in shared]
    remedy = find_remedy(damages, archived.keys() - lost)
    return Verification(len(dumps), len(ids), damages, remedy)


def _find_forgotten(archive: Archive, hashes: Collection[str]) -> set[str]:
    """Those of some dumps that the archive says were forgotten."""
    if not hashes:
        return set()
    entries = (entry for _, entry in archive.entries(with_data=False))
    return {str(entry.sha256) for entry in entries if entry.kind == FORGOTTEN} & {*hashes}


def _rebuild(
    file: Path,
    archive: Archive,
    archived: dict[str, ArchivedDump],
    *,
    decoder: Decoder,
    progress: Callable[[IngestProgress], None] | None,
) -> set[str]:
    """Load dumps of the archive into a new file; returns SHA-256 of those that cannot be loaded."""
    lost, done = set[str](), 0
    with open_writer(file) as connection:
        use_database(connection)
        connection.execute(f"SET memory_limit = '{_MEMORY}'")
        migrate(connection)
        committer = Committer(connection, None, decoder)
        with (
            ThreadPoolExecutor(1) as pool,
            open_cursor(connection) as cursor,
            tuned_interpreter(),
        ):
            planned = plan_batches(
                ArchiveReader(cursor, archive, decoder), read_archived(archived.values())
            )
            for group in decoded_groups(pool, planned, 1, decoder):
                loaded = committer.commit(group)
                lost |= {one.sha256 for one in loaded.refused if one.sha256 in archived}
                done += sum(len(batch.dumps) for batch in group)
                if progress:
                    progress(IngestProgress(done, len(archived), 0, 0))
        dropped = [one.dropped for sha256, one in archived.items() if sha256 not in lost]
        if entries := [entry for entry in dropped if entry]:
            drop_events(connection, entries)
        connection.execute("CHECKPOINT")
    return lost


def _compare(
    live: duckdb.DuckDBPyConnection, rebuilt: duckdb.DuckDBPyConnection, ids: Sequence[int]
) -> tuple[dict[int, list[str]], list[str]]:
    """Tables with other rows by dump, and shared tables that lack rows of the rebuilt dumps."""
    differing: dict[int, list[str]] = {}
    for table in TABLES_OF_DUMPS:
        one, other = (_hash_dumps(connection, table, ids) for connection in (live, rebuilt))
        for id_ in sorted(one.keys() | other.keys()):
            if one.get(id_) != other.get(id_):
                differing.setdefault(id_, []).append(table)
    shared = [table for table, key in SHARED.items() if _lacks(live, rebuilt, table, key)]
    return differing, shared


def _hash_dumps(connection: duckdb.DuckDBPyConnection, table: str, ids: Sequence[int]) -> _Hashes:
    columns = ", ".join(name for name in STORED[table].names if name != "damaged")
    text = (
        f"SELECT dump_id, count(*), sum(hash({columns}))::VARCHAR FROM {table} "  # noqa: S608
        "WHERE dump_id IN (SELECT unnest(?::INTEGER[])) GROUP BY dump_id"
    )
    return {id_: (count, total) for id_, count, total in connection.execute(text, [ids]).fetchall()}


def _lacks(
    live: duckdb.DuckDBPyConnection, rebuilt: duckdb.DuckDBPyConnection, table: str, key: str
) -> bool:
    """Whether a table of the store lacks rows that a rebuild makes, or has them otherwise."""
    keys = [row[0] for row in rebuilt.execute(f"SELECT DISTINCT {key} FROM {table}").fetchall()]  # noqa: S608
    columns = ", ".join(OWN_COLUMNS.get(table, STORED[table].names))
    text = f"SELECT DISTINCT hash({columns}) FROM {table} WHERE {key} IN (SELECT unnest(?))"  # noqa: S608
    wanted, there = (_rows(connection, text, keys) for connection in (rebuilt, live))
    return not wanted <= there


def _rows(connection: duckdb.DuckDBPyConnection, text: str, keys: Iterable[object]) -> set[object]:
    return {row[0] for row in connection.execute(text, [list(keys)]).fetchall()}
