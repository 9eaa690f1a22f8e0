"""Dumps of the archive that are decoded again, into a store in memory, to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import duckdb
import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.ingest.schemas.dumps import DIGESTED, STORED
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import Entry
from tracehouse.warehouse.engine.connection import open_cursor, registered
from tracehouse.warehouse.engine.digests import Digests
from tracehouse.warehouse.engine.migrations import store_in_memory
from tracehouse.warehouse.engine.views import store_views
from tracehouse.warehouse.load.batches import BATCH_BYTES, BATCH_FILES, Batch
from tracehouse.warehouse.load.committer import Committer
from tracehouse.warehouse.load.decoders import Decoder
from tracehouse.warehouse.load.interpreter import tuned_interpreter
from tracehouse.warehouse.load.pipeline import count_cores, decoded_groups
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep.archived_batches import ArchiveReader
from tracehouse.warehouse.upkeep.archived_dumps import (
    ArchivedDump,
    find_archived_dumps,
    read_archived,
)
from tracehouse.warehouse.upkeep.retain import drop_events

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
OWN_COLUMNS = {"builds": ["build_id", "name"]}  # the others are gathered from all dumps


class ArchiveDecoder:
    """Decodes dumps of the archive again, and compares the rows that they share with the store's.

    Attributes:
        wrong_tables: Tables of the store that lack some of these rows.
        undecodable: SHA-256 of the dumps whose files in the archive cannot be loaded any more.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, archive: Archive, decoder: Decoder
    ) -> None:
        self._connection, self._archive, self._decoder = connection, archive, decoder
        self.wrong_tables: set[str] = set()
        self.undecodable: set[str] = set()

    def decode(
        self,
        hashes: Sequence[str],
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> pa.Table:
        """The digests of those of the dumps that the archive has, as in the table dump_digests.

        An ArchiveError is passed on.
        """
        archived = find_archived_dumps(self._archive, set(hashes))
        found, done = [Digests().table()], 0
        workers = max(count_cores() - 1, 1)
        with (
            ThreadPoolExecutor(workers) as pool,
            open_cursor(self._connection) as cursor,
            tuned_interpreter(),
        ):
            reader = ArchiveReader(cursor, self._archive, self._decoder)
            entries = read_archived(archived.values())
            planned = plan_batches(reader, entries)
            for group in decoded_groups(pool, planned, workers, self._decoder):
                found.append(self._load(group, archived))
                done += sum(len(batch.dumps) for batch in group)
                if progress:
                    progress(IngestProgress(done, len(archived), 0, 0))
        return pa.concat_tables(found)

    def _load(self, group: Sequence[Batch], archived: Mapping[str, ArchivedDump]) -> pa.Table:
        """The digests of a group of dumps, which are loaded into a store of their own."""
        with closing(store_in_memory()) as memory:
            done = Committer(memory, None, self._decoder).commit(group)
            dumps = [dump for batch in group for dump in batch.dumps]
            wanted = {dump.sha256 for dump in dumps}
            self.undecodable |= {one.sha256 for one in done.refused if one.sha256 in wanted}
            dropped = [archived[dump.sha256].dropped for dump in dumps]
            if entries := [entry for entry in dropped if entry]:
                store_views(memory)
                drop_events(memory, entries)
            for table, key in SHARED.items():
                columns = OWN_COLUMNS.get(table, STORED[table].names)
                rows = memory.sql(f"SELECT {', '.join(columns)} FROM {table}").to_arrow_table()  # noqa: S608
                if rows.num_rows and self._lacks(table, key, rows):
                    self.wrong_tables.add(table)
            names = ", ".join(["dump_id::BIGINT AS dump_id", *DIGESTED])
            return memory.sql(f"SELECT {names} FROM dump_digests").to_arrow_table()  # noqa: S608

    def _lacks(self, table: str, key: str, rows: pa.Table) -> bool:
        """Whether the store's table lacks some rows."""
        columns = ", ".join(rows.column_names)
        text = (
            f"SELECT count(*) FROM (SELECT {columns} FROM expected EXCEPT "  # noqa: S608
            f"SELECT {columns} FROM {table} WHERE {key} IN (SELECT {key} FROM expected))"
        )
        with registered(self._connection, "expected", rows):
            ((count,),) = self._connection.execute(text).fetchall()
        return bool(count)


def plan_batches(reader: ArchiveReader, entries: Iterable[Entry]) -> Iterator[Batch]:
    """Dumps of the archive in batches of bounded size, which are not decoded yet."""
    for some in batches(entries, lambda entry: len(entry.data), BATCH_BYTES, BATCH_FILES):
        batch = Batch()
        batch.dumps = [reader.new_dump(entry, batch) for entry in some]
        batch.byte_count = sum(len(entry.data) for entry in some)
        yield batch
